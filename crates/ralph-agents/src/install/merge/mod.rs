//! Hooks in settings files of users: JSON, also with comments and trailing commas. Text of the user keeps every byte;
//! malformed settings are refused with line and column.
mod add_hooks;
mod remove_hooks;
mod settings_document;
mod settings_layout;
#[cfg(test)]
mod tests;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde_json::Value;

pub use add_hooks::{InsertedSpan, MergedSettings, add_hooks, undo_insertions};
pub use remove_hooks::{CreatedMembers, remove_hooks};
pub use settings_document::MalformedSettings;

use settings_document::{SettingsDocument, items, skip_bom};

/// The key of the hooks in settings.
const HOOKS: &str = "hooks";

/// One hook: an entry in the list of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    pub event: &'static str,
    pub entry: Value,
}

/// Returns whether the settings contain all of these hooks and no other hook of ralph.
pub fn has_exactly_hooks(
    text: &str,
    hooks: &[Hook],
    is_ours: impl Fn(&str) -> bool,
) -> Result<bool, MalformedSettings> {
    let document = SettingsDocument::parse(skip_bom(text))?;
    let Some(events) = find_events_object(&document)? else { return Ok(hooks.is_empty()) };
    let mut found = Vec::new();
    for event in items(events) {
        let groups =
            items(event.value).into_iter().filter(|group| remove_hooks::commands_of_group(group.value).any(&is_ours));
        found.extend(groups.map(|group| (event.key, to_json(group.value))));
    }
    let is_there = |hook: &Hook| found.contains(&(Some(hook.event), hook.entry.clone()));
    Ok(found.len() == hooks.len() && hooks.iter().all(is_there))
}

/// A hook in settings and its position: the event, the index of the group, and the index within the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledHook {
    pub event: String,
    pub group: usize,
    pub at: usize,
    pub hook: Value,
}

/// Returns ralph's hooks in the settings.
pub fn find_installed_hooks(
    text: &str,
    is_ours: impl Fn(&str) -> bool,
) -> Result<Vec<InstalledHook>, MalformedSettings> {
    let document = SettingsDocument::parse(skip_bom(text))?;
    let Some(events) = find_events_object(&document)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for event in items(events) {
        for (group, of_group) in items(event.value).iter().enumerate() {
            let hooks = remove_hooks::hooks_of_group(of_group.value).enumerate();
            let own = hooks.filter(|(_, hook)| remove_hooks::command_of_hook(hook).is_some_and(&is_ours));
            found.extend(own.map(|(at, hook)| {
                let event = event.key.unwrap_or_default().to_owned();
                InstalledHook { event, group, at, hook: to_json(hook) }
            }));
        }
    }
    Ok(found)
}

/// Returns the value of a key, or `None` for malformed settings.
#[must_use]
pub fn find_value(text: &str, key: &str) -> Option<Value> {
    let document = SettingsDocument::parse(skip_bom(text)).ok()?;
    document.member(document.root.as_ref()?, key).ok()?.map(to_json)
}

fn to_json(value: &ast::Value<'_>) -> Value {
    value.clone().into()
}

/// Returns the object with the events.
fn find_events_object<'a>(document: &'a SettingsDocument<'_>) -> Result<Option<&'a ast::Value<'a>>, MalformedSettings> {
    let Some(root) = &document.root else { return Ok(None) };
    if root.as_object().is_none() {
        return Err(document.error(root.start(), "the settings are not an object"));
    }
    match document.member(root, HOOKS)? {
        Some(hooks) if hooks.as_object().is_none() => Err(document.error(hooks.start(), "\"hooks\" is not an object")),
        hooks => Ok(hooks),
    }
}
