//! Reads the list of targets. Those of the project's file are added to those of the user's file and never replace them.
use ralph_core::notification::{
    DayMinute, DeliverySchedule, NotificationEvent, NotificationRule, NotificationSubject, QuietHours,
};
use ralph_util::suggest;
use ralph_util::yaml::{DocumentNode, NodeContent};

use super::notify_target::{NotifyAddress, NotifyChannel, NotifyTarget};
use crate::config::error::{ConfigError, ValueError};
use crate::config::keys::notify_keys::{NOTIFY_KEYS, NotifyDraft};
use crate::config::layers::document::{KeyContext, fill_keys, is_variable_name};
use crate::config::settings::judge_api::validate_address;
use crate::config::settings::origin::{Setting, SettingSource};

/// Returns the targets of this layer, after those of the user's file if this is the project's.
pub(in crate::config) fn read_targets(
    node: &DocumentNode,
    context: &KeyContext<'_>,
    below: &Setting<Vec<NotifyTarget>>,
) -> Result<Vec<NotifyTarget>, ConfigError> {
    let items = match &node.content {
        NodeContent::Null => &[][..],
        NodeContent::List(items) => items,
        NodeContent::Text(_) | NodeContent::Map(_) => {
            let refusal = ValueError::new("expected a list").with_hint("write one `- kind: KIND` for each target");
            return Err(context.error_at_node(node, refusal));
        }
    };
    // A variable replaces everything: `RALPH_NOTIFY='[]'` turns notifications off.
    let keeps_lower = matches!(context.source, SettingSource::File { .. });
    let mut targets = if keeps_lower { below.value.clone() } else { Vec::new() };
    for item in items {
        let target = read_target(item, context)?;
        if let Some(other) = targets.iter().find(|other| other.name == target.name) {
            let refusal = ValueError::new(format!("the name {:?} is taken ({})", target.name, other.origin))
                .with_hint("give the target another `name`");
            return Err(context.error_at_node(item, refusal));
        }
        targets.push(target);
    }
    Ok(targets)
}

fn read_target(node: &DocumentNode, context: &KeyContext<'_>) -> Result<NotifyTarget, ConfigError> {
    let mut draft = NotifyDraft::default();
    fill_keys(NOTIFY_KEYS, &mut draft, node, context)?;
    let refused = |refusal| context.error_at_node(node, refusal);
    let channel = read_channel(&draft).map_err(refused)?;
    let rule = NotificationRule {
        events: read_choices("on", &draft.on.value, NotificationEvent::parse, || {
            NotificationEvent::ALL.map(NotificationEvent::as_str).to_vec()
        })
        .map_err(refused)?
        .unwrap_or_else(|| NotificationEvent::ALL.to_vec()),
        subjects: read_choices("runs", &draft.runs.value, NotificationSubject::parse, || {
            NotificationSubject::ALL.map(NotificationSubject::as_str).to_vec()
        })
        .map_err(refused)?
        .unwrap_or_else(|| NotificationSubject::ALL.to_vec()),
    };
    Ok(NotifyTarget {
        name: read_name(&draft, &channel).map_err(refused)?,
        schedule: read_schedule(&draft).map_err(refused)?,
        link: read_link(&draft).map_err(refused)?,
        origin: context.source.origin_at(node.line),
        channel,
        rule,
    })
}

fn read_name(draft: &NotifyDraft, channel: &NotifyChannel) -> Result<String, ValueError> {
    let name = draft.name.value.clone().unwrap_or_else(|| channel.kind().to_owned());
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_name && name.len() <= 64 {
        return Ok(name);
    }
    Err(ValueError::new(format!("{name:?} is not a valid name of a target")).with_hint("use letters, digits, - and _"))
}

fn read_channel(draft: &NotifyDraft) -> Result<NotifyChannel, ValueError> {
    let kind = draft.kind.value.as_deref();
    let [url, url_env, secret_env] = [&draft.url, &draft.url_env, &draft.secret_env].map(|part| part.value.is_some());
    let command = !draft.command.value.is_empty();
    let unused = |kind: &str, written: &[(&str, bool)]| match written.iter().find(|(_, is_written)| *is_written) {
        Some((key, _)) => Err(ValueError::new(format!("`{key}` does not belong to the kind {kind}"))),
        None => Ok(()),
    };
    match kind {
        Some("desktop") => {
            unused("desktop", &[("url", url), ("url_env", url_env), ("secret_env", secret_env), ("command", command)])?;
            Ok(NotifyChannel::Desktop)
        }
        Some("webhook") => {
            unused("webhook", &[("command", command)])?;
            let secret_env = draft.secret_env.value.clone().ok_or_else(|| {
                ValueError::new("a webhook needs a secret")
                    .with_hint("set `secret_env` to the variable that contains it")
            })?;
            Ok(NotifyChannel::Webhook { address: read_address(draft)?, secret_env: read_variable(&secret_env)? })
        }
        Some("slack") => {
            unused("slack", &[("secret_env", secret_env), ("command", command)])?;
            Ok(NotifyChannel::Slack { address: read_address(draft)? })
        }
        Some("script") => {
            unused("script", &[("url", url), ("url_env", url_env), ("secret_env", secret_env)])?;
            match draft.command.value.first() {
                Some(program) if !program.is_empty() => {
                    Ok(NotifyChannel::Script { command: draft.command.value.clone() })
                }
                Some(_) | None => Err(ValueError::new("a script needs a command")
                    .with_hint("write a list: `command: [./notify.sh, argument]`")),
            }
        }
        Some(other) => Err(ValueError::new(format!("there is no kind {other:?}"))
            .with_hint(suggest::suggestion_hint(other, &NotifyChannel::NAMES))),
        None => Err(ValueError::new("the target has no kind")
            .with_hint(format!("add `kind`: {}", NotifyChannel::NAMES.join(", ")))),
    }
}

/// Reads the address. It is never repeated in errors: it may be secret.
fn read_address(draft: &NotifyDraft) -> Result<NotifyAddress, ValueError> {
    match (&draft.url.value, &draft.url_env.value) {
        (Some(_), Some(_)) => Err(ValueError::new("`url` and `url_env` are both set").with_hint("keep one of them")),
        (Some(url), None) => {
            validate_address(url).map_err(|reason| ValueError::new(format!("url: {reason}")))?;
            Ok(NotifyAddress::Url(url.clone()))
        }
        (None, Some(variable)) => Ok(NotifyAddress::Variable(read_variable(variable)?)),
        (None, None) => Err(ValueError::new("the target has no address")
            .with_hint("set `url`, or `url_env` to the variable that contains it")),
    }
}

fn read_variable(name: &str) -> Result<String, ValueError> {
    if is_variable_name(name) {
        return Ok(name.to_owned());
    }
    Err(ValueError::new("this is not the name of a variable")
        .with_hint("write the name of an environment variable, never the secret itself"))
}

/// Reads names of a list; `None` without the key.
fn read_choices<T>(
    key: &str,
    written: &[String],
    parse: impl Fn(&str) -> Option<T>,
    names: impl Fn() -> Vec<&'static str>,
) -> Result<Option<Vec<T>>, ValueError> {
    if written.is_empty() {
        return Ok(None);
    }
    let read = |name: &String| {
        parse(name).ok_or_else(|| {
            ValueError::new(format!("{key}: {name:?} is not a valid value"))
                .with_hint(suggest::suggestion_hint(name, &names()))
        })
    };
    written.iter().map(read).collect::<Result<_, _>>().map(Some)
}

fn read_schedule(draft: &NotifyDraft) -> Result<DeliverySchedule, ValueError> {
    let quiet = draft.quiet.value.as_deref().map(|text| {
        QuietHours::parse(text).ok_or_else(|| {
            ValueError::new(format!("quiet: {text:?} is not a time span")).with_hint("write two times: 22:00-07:00")
        })
    });
    let digest = draft.digest.value.as_deref().map(|text| {
        DayMinute::parse(text).ok_or_else(|| {
            ValueError::new(format!("digest: {text:?} is not a time of day")).with_hint("write a time: \"08:00\"")
        })
    });
    let schedule = DeliverySchedule { quiet: quiet.transpose()?, digest: digest.transpose()? };
    match schedule {
        DeliverySchedule { quiet: Some(quiet), digest: Some(digest) } if quiet.contains(digest) => {
            Err(ValueError::new(format!("the digest at {digest} is in the quiet hours {quiet}"))
                .with_hint("choose a time after the quiet hours"))
        }
        schedule => Ok(schedule),
    }
}

fn read_link(draft: &NotifyDraft) -> Result<Option<String>, ValueError> {
    let Some(link) = &draft.link.value else { return Ok(None) };
    let is_web = ["http://", "https://"].iter().any(|scheme| link.starts_with(scheme));
    if is_web && !link.contains(char::is_whitespace) {
        return Ok(Some(link.trim_end_matches('/').to_owned()));
    }
    Err(ValueError::new(format!("link: {link:?} is not an address of a server"))
        .with_hint("write the address under which you reach the server, such as https://ralph.example.net"))
}
