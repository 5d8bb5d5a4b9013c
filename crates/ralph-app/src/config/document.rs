//! Applies a document, level by level, to the settings. Unknown keys are errors with a suggestion.
use std::collections::{BTreeMap, BTreeSet};

use super::error::{ConfigError, Refusal};
use super::keys::{AGENT_KEYS, KEYS, Key, Place};
use super::origin::{Setting, Source};
use super::settings::{AgentSettings, Settings};
use super::slot::scalar;
use super::templates::Templates;
use ralph_util::duration;
use ralph_util::suggest;
use ralph_util::yaml::{self, Content, Entry, Node};

/// The value that is being read: where it stands and under which key.
pub(super) struct At<'a> {
    pub source: &'a Source,
    pub path: String,
    pub templates: &'a Templates,
}

impl At<'_> {
    pub(super) fn refuse(&self, node: &Node, refusal: Refusal) -> ConfigError {
        let what = if self.path.is_empty() {
            refusal.what.clone()
        } else {
            format!("{}: {}", self.path, refusal.what)
        };
        let node = node.nearest(&refusal.part);
        Refusal { what, ..refusal }.at(self.source.place(node.line, Some(node.column)))
    }

    pub(super) fn below(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { source: self.source, path, templates: self.templates }
    }
}

/// Applies a whole document.
pub(super) fn apply(settings: &mut Settings, text: &str, source: &Source) -> Result<(), ConfigError> {
    let templates = settings.templates.clone();
    let at = At { source, path: String::new(), templates: &templates };
    let root = read(text, source)?;
    settings.layer(|settings| fill(KEYS, settings, &root, &at))
}

/// Reads YAML from a source.
pub(super) fn read(text: &str, source: &Source) -> Result<Node, ConfigError> {
    yaml::parse(text).map_err(|bad| {
        Refusal::new(format!("it is no YAML that can be read: {}", bad.what))
            .at(source.place(bad.line, Some(bad.column)))
    })
}

/// Fills a table of keys from a map. `at.path` is where the table begins.
pub(super) fn fill<S>(keys: &[Key<S>], target: &mut S, node: &Node, at: &At<'_>) -> Result<(), ConfigError> {
    level(keys, target, node, &Level { at, inside: String::new() })
}

/// How deep a map stands within its table of keys.
struct Level<'a> {
    at: &'a At<'a>,
    /// The part of the path within the table, with its last dot.
    inside: String,
}

fn level<S>(keys: &[Key<S>], target: &mut S, node: &Node, here: &Level<'_>) -> Result<(), ConfigError> {
    for entry in entries(node, here.at)? {
        let path = format!("{}{}", here.inside, entry.key);
        let at = here.at.below(&entry.key);
        if let Some(key) = keys.iter().find(|key| key.path == path) {
            match &key.place {
                Place::Slot(slot) => slot(target).fill(&entry.node, &at)?,
                Place::Later { default } => later(default, &entry.node, &at)?,
            }
            continue;
        }
        let inside = format!("{path}.");
        if !keys.iter().any(|key| key.path.starts_with(&inside)) {
            return Err(unknown(keys, entry, here));
        }
        level(keys, target, &entry.node, &Level { at: &at, inside })?;
    }
    Ok(())
}

pub(super) fn entries<'a>(node: &'a Node, at: &At<'_>) -> Result<&'a [Entry], ConfigError> {
    match &node.content {
        Content::Map(entries) => Ok(entries),
        // A table of which everything is commented out.
        Content::Nothing => Ok(&[]),
        Content::Text(_) | Content::List(_) => {
            Err(at.refuse(node, Refusal::new("a table is expected").hint("write `key: value`, one a line")))
        }
    }
}

fn unknown<S>(keys: &[Key<S>], entry: &Entry, here: &Level<'_>) -> ConfigError {
    let below = keys.iter().filter_map(|key| key.path.strip_prefix(here.inside.as_str()));
    let names: BTreeSet<&str> = below.filter_map(|rest| rest.split('.').next()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let path = here.at.below(&entry.key).path;
    let elsewhere = keys.iter().map(|key| key.path).find(|path| path.ends_with(&format!(".{}", entry.key)));
    let hint = match (suggest::near(&entry.key, &names), elsewhere) {
        (Some(name), _) => format!("did you mean {name}?"),
        (None, Some(path)) => format!("it belongs to another table: {path}"),
        (None, None) => suggest::hint(&entry.key, &names),
    };
    Refusal::new(format!("there is no key {path}"))
        .hint(hint)
        .at(here.at.source.place(entry.line, Some(entry.column)))
}

/// Fills a table of texts whose names are the user's. A name that is written again replaces its value alone.
pub(super) fn table(
    slot: &mut BTreeMap<String, Setting<String>>,
    node: &Node,
    at: &At<'_>,
) -> Result<(), ConfigError> {
    for entry in entries(node, at)? {
        let at = at.below(&entry.key);
        if !is_variable_name(&entry.key) {
            let what = Refusal::new("the name of a variable has letters, digits and `_`, no digit first");
            return Err(at.refuse(&entry.node, what));
        }
        let value = scalar(&entry.node, "a text").map_err(|refusal| at.refuse(&entry.node, refusal))?;
        let origin = at.source.origin(entry.line);
        slot.insert(entry.key.clone(), Setting { value: value.to_owned(), origin });
    }
    Ok(())
}

/// Tells whether a shell could use it as the name of a variable.
pub(super) fn is_variable_name(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Fills what is written about agents.
pub(super) fn agents(
    slot: &mut BTreeMap<String, AgentSettings>,
    node: &Node,
    at: &At<'_>,
) -> Result<(), ConfigError> {
    for entry in entries(node, at)? {
        let at = at.below(&entry.key);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if entry.key.is_empty() || !entry.key.bytes().all(is_name) {
            return Err(
                at.refuse(&entry.node, Refusal::new("the name of an agent has letters, digits, - and _"))
            );
        }
        let agent = slot.entry(entry.key.clone()).or_default();
        agent.mentioned = at.source.origin(entry.line);
        fill(AGENT_KEYS, agent, &entry.node, &at)?;
    }
    Ok(())
}

/// Accepts the default of a key that has no effect yet, and nothing else.
pub(super) fn later(default: &str, node: &Node, at: &At<'_>) -> Result<(), ConfigError> {
    if yaml::parse(default).is_ok_and(|default| same(node, &default)) {
        return Ok(());
    }
    let hint = format!("leave it out, or write its default, {default}");
    Err(at.refuse(node, Refusal::new("it is not available yet in this version").hint(hint)))
}

fn same(a: &Node, b: &Node) -> bool {
    match (&a.content, &b.content) {
        (Content::Nothing, Content::Nothing) => true,
        (Content::Text(a), Content::Text(b)) => a == b || same_time(a, b),
        (Content::List(a), Content::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Content::Nothing | Content::Text(_) | Content::List(_) | Content::Map(_), _) => false,
    }
}

/// `720m` is `12h`.
fn same_time(written: &str, default: &str) -> bool {
    let has_unit = default.ends_with(|last: char| last.is_ascii_alphabetic());
    let (written, default) = (duration::parse(written), duration::parse(default));
    has_unit && written.is_ok() && written == default
}
