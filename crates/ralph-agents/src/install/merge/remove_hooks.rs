//! Removes ralph's hooks from settings that were edited since the installation, by their commands.
use std::ops::Range;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use serde::{Deserialize, Serialize};

use super::settings_document::{MalformedSettings, SettingsDocument, is_line_comment, items, skip_bom};
use super::{HOOKS, find_events_object};

/// The members that ralph created. They are removed with the last hook in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedMembers {
    pub hooks: bool,
    pub events: Vec<String>,
}

/// Removes every hook whose command is ralph's. Everything else stays unchanged.
pub fn remove_hooks(
    text: &str,
    created: &CreatedMembers,
    is_ours: impl Fn(&str) -> bool,
) -> Result<String, MalformedSettings> {
    let mut body = skip_bom(text).to_owned();
    let (bom, _) = text.split_at(text.len() - body.len());
    while let Some(mut cuts) = next_cuts(&SettingsDocument::parse(&body)?, created, &is_ours)? {
        // From the end, so that the earlier positions stay valid.
        cuts.sort_by_key(|cut| std::cmp::Reverse(cut.start));
        cuts.into_iter().for_each(|cut| drop(body.drain(cut)));
    }
    Ok(format!("{bom}{body}"))
}

/// Returns the next ranges to cut: a hook, or the member that ralph created for it.
fn next_cuts(
    document: &SettingsDocument<'_>,
    created: &CreatedMembers,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<Option<Vec<Range<usize>>>, MalformedSettings> {
    let (Some(root), Some(hooks)) = (&document.root, find_events_object(document)?) else { return Ok(None) };
    let events = items(hooks);
    let has_ours = |group: &Value<'_>| commands_of_group(group).any(is_ours);
    let found = events.iter().enumerate().find_map(|(index, event)| {
        let groups = items(event.value);
        groups.iter().position(|group| has_ours(group.value)).map(|at| (index, event, groups, at))
    });
    let Some((index, event, groups, at)) = found else { return Ok(None) };
    let group = groups.get(at).map(|group| group.value);
    if let Some(group) = group.filter(|group| commands_of_group(group).any(|command| !is_ours(command))) {
        return Ok(cut_from_group(document, group, is_ours));
    }
    let is_created = event.key.is_some_and(|key| created.events.iter().any(|event| event == key));
    Ok(match (groups.len() == 1 && is_created, events.len() == 1 && created.hooks) {
        (true, true) => {
            let place = items(root).iter().position(|item| item.key == Some(HOOKS));
            place.and_then(|place| cut_item(document, root, place))
        }
        (true, false) => cut_item(document, hooks, index),
        (false, _) => cut_item(document, event.value, at),
    })
}

/// Cuts ralph's hook out of a group that contains others too.
fn cut_from_group(
    document: &SettingsDocument<'_>,
    group: &Value<'_>,
    is_ours: &dyn Fn(&str) -> bool,
) -> Option<Vec<Range<usize>>> {
    let list = items(group).into_iter().find(|item| item.key == Some(HOOKS))?.value;
    let at = items(list).iter().position(|hook| command_of_hook(hook.value).is_some_and(is_ours))?;
    cut_item(document, list, at)
}

/// Returns the commands of a group of hooks.
pub(super) fn commands_of_group<'a>(group: &'a Value<'_>) -> impl Iterator<Item = &'a str> {
    hooks_of_group(group).filter_map(command_of_hook)
}

pub(super) fn hooks_of_group<'a>(group: &'a Value<'_>) -> impl Iterator<Item = &'a Value<'a>> {
    let lists = items(group).into_iter().filter(|item| item.key == Some(HOOKS));
    lists.flat_map(|list| items(list.value)).map(|hook| hook.value)
}

pub(super) fn command_of_hook<'a>(hook: &'a Value<'_>) -> Option<&'a str> {
    Some(&hook.as_object()?.get_string("command")?.value)
}

/// Returns the ranges to cut to remove one item: the item, the white space before it, and the comma that it needed.
fn cut_item(document: &SettingsDocument<'_>, list: &Value<'_>, index: usize) -> Option<Vec<Range<usize>>> {
    let list_items = items(list);
    let item = list_items.get(index)?;
    let before = index.checked_sub(1).and_then(|before| list_items.get(before));
    let comma_before = before.and_then(|before| document.comma_after(before));
    let comma = document.comma_after(item);
    let begin = comma_before.map_or(list.start() + 1, |comma| comma + 1);
    let end = comma.map_or(item.value.end(), |comma| comma + 1);
    let comment = document.comments_in(begin..item.start).next_back();
    let rest = document.text.get(end..)?.trim_start_matches([' ', '\t']);
    // Text that follows a line comment must stay on its own line.
    let is_swallowed = comment.is_some_and(is_line_comment) && !rest.starts_with(['\n', '\r']);
    let start = if is_swallowed { item.start } else { comment.map_or(begin, Ranged::end) };
    let needed_comma = comma_before.filter(|_| comma.is_none()).map(|comma| comma..comma + 1);
    Some(needed_comma.into_iter().chain(std::iter::once(start..end)).collect())
}
