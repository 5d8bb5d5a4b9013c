//! Hooks in settings that belong to somebody else: JSON, also with comments and trailing commas. Everything that is not
//! ours keeps every byte; what cannot be understood is refused with its line and column.
mod add;
mod layout;
mod parse;
mod remove;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use add::{Merged, Span, add, undo};
pub use parse::Malformed;
pub use remove::{Made, remove};

use parse::{Document, Kind, Node, malformed};

/// Where hooks stand in settings.
const HOOKS: &str = "hooks";

/// One hook: what is put into the list of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    pub event: &'static str,
    pub entry: Value,
}

/// Tells whether all of these hooks stand in the settings, and none of ours that is another.
pub fn has(text: &str, hooks: &[Hook], is_ours: impl Fn(&str) -> bool) -> Result<bool, Malformed> {
    let document = Document::parse(text)?;
    let Some(events) = events(text, &document)? else { return Ok(hooks.is_empty()) };
    let mut found = Vec::new();
    for event in items(events) {
        let groups = items(&event.value).iter().filter(|group| remove::commands(&group.value).any(&is_ours));
        found.extend(groups.map(|group| (event.key.as_deref(), group.value.to_json(text))));
    }
    let is_there = |hook: &Hook| found.contains(&(Some(hook.event), hook.entry.clone()));
    Ok(found.len() == hooks.len() && hooks.iter().all(is_there))
}

/// A hook that stands in settings, and where: in which list, in which of its groups, and where there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub event: String,
    pub group: usize,
    pub at: usize,
    pub hook: Value,
}

/// Returns the hooks of ours that stand in the settings.
pub fn ours(text: &str, is_ours: impl Fn(&str) -> bool) -> Result<Vec<Standing>, Malformed> {
    let document = Document::parse(text)?;
    let Some(events) = events(text, &document)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for event in items(events) {
        for (group, of_group) in items(&event.value).iter().enumerate() {
            let hooks = remove::hooks(&of_group.value).enumerate();
            let own = hooks.filter(|(_, hook)| remove::command(hook).is_some_and(&is_ours));
            found.extend(own.map(|(at, hook)| {
                let event = event.key.clone().unwrap_or_default();
                Standing { event, group, at, hook: hook.to_json(text) }
            }));
        }
    }
    Ok(found)
}

/// Returns what the settings say under a key, if they can be understood.
#[must_use]
pub fn value_of(text: &str, key: &str) -> Option<Value> {
    let root = Document::parse(text).ok()?.root?;
    Some(root.member(text, key).ok()??.to_json(text))
}

/// Returns the object with the events, if there is one.
fn events<'a>(text: &str, document: &'a Document) -> Result<Option<&'a Node>, Malformed> {
    let Some(root) = &document.root else { return Ok(None) };
    if !matches!(root.kind, Kind::Object(_)) {
        return Err(malformed(text, root.start, "the settings are no object"));
    }
    match root.member(text, HOOKS)? {
        None => Ok(None),
        Some(hooks) if matches!(hooks.kind, Kind::Object(_)) => Ok(Some(hooks)),
        Some(hooks) => Err(malformed(text, hooks.start, "\"hooks\" is no object")),
    }
}

fn items(node: &Node) -> &[parse::Item] {
    match &node.kind {
        Kind::Object(items) | Kind::Array(items) => items,
        Kind::Text(_) | Kind::Other => &[],
    }
}
