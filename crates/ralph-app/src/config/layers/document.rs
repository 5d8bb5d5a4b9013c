//! Applies a document, level by level, to the settings. Unknown keys are errors with a suggestion.
use std::collections::{BTreeMap, BTreeSet};

use crate::config::checks::templates::TemplateLibrary;
use crate::config::error::{ConfigError, ValueError};
use crate::config::keys::key_list::{AGENT_KEYS, CONFIG_KEYS, ConfigKey, KeyTarget};
use crate::config::keys::slot::read_scalar;
use crate::config::settings::all_settings::{AgentSettings, Settings};
use crate::config::settings::origin::{Setting, SettingSource};
use ralph_util::duration;
use ralph_util::suggest;
use ralph_util::yaml::{self, DocumentNode, MapEntry, NodeContent};

/// The position of the value that is being read: its source and its key.
pub(in crate::config) struct KeyContext<'a> {
    pub source: &'a SettingSource,
    pub path: String,
    pub templates: &'a TemplateLibrary,
}

impl KeyContext<'_> {
    pub(in crate::config) fn error_at_node(&self, node: &DocumentNode, error: ValueError) -> ConfigError {
        let message =
            if self.path.is_empty() { error.message.clone() } else { format!("{}: {}", self.path, error.message) };
        let node = node.nearest_node(&error.part);
        ValueError { message, ..error }.at_place(self.source.format_place(node.line, Some(node.column)))
    }

    pub(in crate::config) fn child(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { source: self.source, path, templates: self.templates }
    }
}

/// Applies a YAML document as one layer.
pub(in crate::config) fn apply_document(
    settings: &mut Settings,
    text: &str,
    source: &SettingSource,
) -> Result<(), ConfigError> {
    let templates = settings.templates.clone();
    let context = KeyContext { source, path: String::new(), templates: &templates };
    let root = parse_yaml(text, source)?;
    settings.apply_layer(|settings| fill_keys(CONFIG_KEYS, settings, &root, &context))
}

/// Parses YAML; errors name the position in the source.
pub(in crate::config) fn parse_yaml(text: &str, source: &SettingSource) -> Result<DocumentNode, ConfigError> {
    yaml::parse(text).map_err(|bad| {
        ValueError::new(format!("not valid YAML: {}", bad.message))
            .at_place(source.format_place(bad.line, Some(bad.column)))
    })
}

/// Fills a table of keys from a map. `context.path` is the path of the table.
pub(in crate::config) fn fill_keys<S>(
    keys: &[ConfigKey<S>],
    target: &mut S,
    node: &DocumentNode,
    context: &KeyContext<'_>,
) -> Result<(), ConfigError> {
    fill_level(keys, target, node, &KeyLevel { context, prefix: String::new() })
}

/// The position of a map within its table of keys.
struct KeyLevel<'a> {
    context: &'a KeyContext<'a>,
    /// The path within the table, with a trailing dot.
    prefix: String,
}

fn fill_level<S>(
    keys: &[ConfigKey<S>],
    target: &mut S,
    node: &DocumentNode,
    level: &KeyLevel<'_>,
) -> Result<(), ConfigError> {
    for entry in map_entries(node, level.context)? {
        let path = format!("{}{}", level.prefix, entry.key);
        let context = level.context.child(&entry.key);
        if let Some(key) = keys.iter().find(|key| key.path == path) {
            match &key.target {
                KeyTarget::Slot(slot) => slot(target).fill_from(&entry.node, &context)?,
                KeyTarget::Reserved { default } => accept_reserved_default(default, &entry.node, &context)?,
            }
            continue;
        }
        let inside = format!("{path}.");
        if !keys.iter().any(|key| key.path.starts_with(&inside)) {
            return Err(unknown_key_error(keys, entry, level));
        }
        fill_level(keys, target, &entry.node, &KeyLevel { context: &context, prefix: inside })?;
    }
    Ok(())
}

pub(in crate::config) fn map_entries<'a>(
    node: &'a DocumentNode,
    context: &KeyContext<'_>,
) -> Result<&'a [MapEntry], ConfigError> {
    match &node.content {
        NodeContent::Map(entries) => Ok(entries),
        // All entries of the table are commented out.
        NodeContent::Null => Ok(&[]),
        NodeContent::Text(_) | NodeContent::List(_) => Err(context
            .error_at_node(node, ValueError::new("expected a table").with_hint("write one `key: value` per line"))),
    }
}

fn unknown_key_error<S>(keys: &[ConfigKey<S>], entry: &MapEntry, level: &KeyLevel<'_>) -> ConfigError {
    let below = keys.iter().filter_map(|key| key.path.strip_prefix(level.prefix.as_str()));
    let names: BTreeSet<&str> = below.filter_map(|rest| rest.split('.').next()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let path = level.context.child(&entry.key).path;
    let elsewhere = keys.iter().map(|key| key.path).find(|path| path.ends_with(&format!(".{}", entry.key)));
    let hint = match (suggest::nearest_name(&entry.key, &names), elsewhere) {
        (Some(name), _) => format!("did you mean {name}?"),
        (None, Some(path)) => format!("it belongs to another table: {path}"),
        (None, None) => suggest::suggestion_hint(&entry.key, &names),
    };
    ValueError::new(format!("there is no key {path}"))
        .with_hint(hint)
        .at_place(level.context.source.format_place(entry.line, Some(entry.column)))
}

/// Fills a table of strings with names that the user chooses. A repeated name replaces only its own value.
pub(in crate::config) fn fill_variables(
    slot: &mut BTreeMap<String, Setting<String>>,
    node: &DocumentNode,
    context: &KeyContext<'_>,
) -> Result<(), ConfigError> {
    for entry in map_entries(node, context)? {
        let context = context.child(&entry.key);
        if !is_variable_name(&entry.key) {
            let refusal = ValueError::new("not a valid variable name")
                .with_hint("use letters, digits and `_`, and do not begin with a digit");
            return Err(context.error_at_node(&entry.node, refusal));
        }
        let value =
            read_scalar(&entry.node, "a string").map_err(|refusal| context.error_at_node(&entry.node, refusal))?;
        let origin = context.source.origin_at(entry.line);
        slot.insert(entry.key.clone(), Setting { value: value.to_owned(), origin });
    }
    Ok(())
}

/// Returns whether a shell accepts the text as a variable name.
pub(in crate::config) fn is_variable_name(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Fills the table of agents.
pub(in crate::config) fn fill_agents(
    slot: &mut BTreeMap<String, AgentSettings>,
    node: &DocumentNode,
    context: &KeyContext<'_>,
) -> Result<(), ConfigError> {
    for entry in map_entries(node, context)? {
        let context = context.child(&entry.key);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if entry.key.is_empty() || !entry.key.bytes().all(is_name) {
            return Err(context.error_at_node(
                &entry.node,
                ValueError::new("not a valid agent name").with_hint("use letters, digits, - and _"),
            ));
        }
        let agent = slot.entry(entry.key.clone()).or_default();
        agent.mentioned_at = context.source.origin_at(entry.line);
        fill_keys(AGENT_KEYS, agent, &entry.node, &context)?;
    }
    Ok(())
}

/// Accepts only the default of a reserved key.
pub(in crate::config) fn accept_reserved_default(
    default: &str,
    node: &DocumentNode,
    context: &KeyContext<'_>,
) -> Result<(), ConfigError> {
    if yaml::parse(default).is_ok_and(|default| is_same_value(node, &default)) {
        return Ok(());
    }
    let hint = format!("remove the key, or write its default, {default}");
    Err(context.error_at_node(node, ValueError::new("not available in this version yet").with_hint(hint)))
}

fn is_same_value(a: &DocumentNode, b: &DocumentNode) -> bool {
    match (&a.content, &b.content) {
        (NodeContent::Null, NodeContent::Null) => true,
        (NodeContent::Text(a), NodeContent::Text(b)) => a == b || is_same_duration(a, b),
        (NodeContent::List(a), NodeContent::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_value(a, b))
        }
        (NodeContent::Null | NodeContent::Text(_) | NodeContent::List(_) | NodeContent::Map(_), _) => false,
    }
}

/// Compares durations by value: `720m` equals `12h`.
fn is_same_duration(written: &str, default: &str) -> bool {
    let has_unit = default.ends_with(|last: char| last.is_ascii_alphabetic());
    let (written, default) = (duration::parse(written), duration::parse(default));
    has_unit && written.is_ok() && written == default
}
