//! `ralph notify`: lists the targets of notifications and tests them.
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::commands::args::config_args::ConfigArgs;
use crate::commands::notifications::notification_host;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::notifications::{NotifyTargetStatus, NotifyTestResult, list_notify_targets, test_notify_targets};
use ralph_app::view::pluralize;
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;

/// Lists the targets of notifications, and sends test messages
///
/// Targets are below `notify` in the configuration: the desktop, signed webhooks, Slack and scripts. `ralph help
/// notifications` describes them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph notify list
  ralph notify test            a message to each target
  ralph notify test phone      a message to the target phone")]
pub struct NotifyCommand {
    #[command(subcommand)]
    what: NotifySubcommand,
}

#[derive(Debug, Subcommand)]
enum NotifySubcommand {
    /// Lists the targets, their rules, and the messages that were not sent yet
    List {
        /// Prints an array of {target, approved, undelivered}
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Sends a test message to each target and reports what happened; rules and quiet hours do not apply
    Test {
        /// The target [default: all]
        name: Option<String>,
        /// Prints an array of {name, kind, sent, error}
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

pub fn run(args: &NotifyCommand) -> Result<u8, CommandError> {
    match &args.what {
        NotifySubcommand::List { json, config } => list_targets(config, *json),
        NotifySubcommand::Test { name, json, config } => test_targets(config, name.as_deref(), *json),
    }
}

fn list_targets(config: &ConfigArgs, is_json: bool) -> Result<u8, CommandError> {
    let project = Project::find_here_or_outside()?;
    let settings = config.load_settings(Some(&project))?;
    let targets = block_on(async { Ok(list_notify_targets(&project, &settings).await?) })?;
    if is_json {
        let rows: Vec<Value> = targets.iter().map(target_json).collect();
        out::print_line(&Value::from(rows).to_string());
    } else if targets.is_empty() {
        out::print_message("no target of notifications is configured: `ralph help notifications` describes them");
    } else {
        targets.iter().for_each(print_target);
    }
    Ok(exit_code::COMPLETED)
}

fn target_json(status: &NotifyTargetStatus) -> Value {
    let undelivered = status.undelivered.iter();
    let undelivered: Vec<Value> = undelivered
        .map(|message| json!({ "id": message.id, "failures": message.failures, "error": message.error }))
        .collect();
    json!({ "target": status.target.to_json(), "approved": status.is_approved, "undelivered": undelivered })
}

fn print_target(status: &NotifyTargetStatus) {
    let NotifyTargetStatus { target, is_approved, undelivered } = status;
    let events: Vec<&str> = target.rule.events.iter().map(|event| event.as_str()).collect();
    let subjects: Vec<&str> = target.rule.subjects.iter().map(|subject| subject.as_str()).collect();
    let mut text = format!("{}  {}  ({})\n", target.name, target.channel.kind(), target.origin);
    text.push_str(&format!("    on {}; of {}\n", events.join(", "), subjects.join(", ")));
    if let Some(quiet) = target.schedule.quiet {
        text.push_str(&format!("    quiet {quiet}\n"));
    }
    if let Some(digest) = target.schedule.digest {
        text.push_str(&format!("    digest at {digest}\n"));
    }
    if !is_approved {
        text.push_str("    not used: it comes with the project and is not approved (ralph trust)\n");
    }
    if !undelivered.is_empty() {
        let count = pluralize(i64::try_from(undelivered.len()).unwrap_or(i64::MAX), "message");
        text.push_str(&format!("    not sent yet: {count}\n"));
    }
    if let Some(error) = undelivered.iter().rev().find_map(|message| message.error.as_ref()) {
        text.push_str(&format!("    last failure: {error}\n"));
    }
    out::print_data(&sanitize_text(&text));
}

fn test_targets(config: &ConfigArgs, name: Option<&str>, is_json: bool) -> Result<u8, CommandError> {
    let project = Project::find_here_or_outside()?;
    let settings = config.load_settings(Some(&project))?;
    let results = block_on(async { Ok(test_notify_targets(&project, &settings, notification_host(), name).await?) })?;
    if is_json {
        let rows: Vec<Value> = results.iter().map(result_json).collect();
        out::print_line(&Value::from(rows).to_string());
    } else {
        results.iter().for_each(print_result);
    }
    let has_failed = results.iter().any(|result| result.sent.is_err());
    Ok(if has_failed { exit_code::PREFLIGHT_FAILED } else { exit_code::COMPLETED })
}

fn result_json(result: &NotifyTestResult) -> Value {
    let error = result.sent.as_ref().err();
    json!({ "name": result.name, "kind": result.kind, "sent": result.sent.is_ok(), "error": error })
}

fn print_result(result: &NotifyTestResult) {
    let NotifyTestResult { name, kind, sent } = result;
    let outcome = match sent {
        Ok(()) => "sent".to_owned(),
        Err(error) => format!("failed: {error}"),
    };
    out::print_message(&sanitize_text(&format!("{name} ({kind}): {outcome}")));
}
