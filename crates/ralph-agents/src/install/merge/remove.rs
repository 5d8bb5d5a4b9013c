//! Takes our hooks out of settings that somebody has edited since: by what they are, not by where they were.
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::parse::{Document, Item, Kind, Malformed, Node, comments};
use super::{HOOKS, events, items};

/// What was not there before our hooks came, and goes with them if nothing else is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    pub hooks: bool,
    pub events: Vec<String>,
}

/// Takes out every hook whose command is ours. Nothing else is touched.
pub fn remove(text: &str, made: &Made, is_ours: impl Fn(&str) -> bool) -> Result<String, Malformed> {
    let mut text = text.to_owned();
    loop {
        let document = Document::parse(&text)?;
        let Some(hooks) = events(&text, &document)? else { return Ok(text) };
        let Some(cuts) = next(&text, &document, hooks, (made, &is_ours)) else { return Ok(text) };
        // From behind, so that the places of the others still hold.
        let mut cuts = cuts;
        cuts.sort_by_key(|cut| std::cmp::Reverse(cut.start));
        cuts.into_iter().for_each(|cut| drop(text.drain(cut)));
    }
}

/// Returns what is cut out next: a hook, or the whole that is nothing without it.
fn next(
    text: &str,
    document: &Document,
    hooks: &Node,
    (made, is_ours): (&Made, &dyn Fn(&str) -> bool),
) -> Option<Vec<Range<usize>>> {
    for (index, event) in items(hooks).iter().enumerate() {
        let groups = items(&event.value);
        let Some(at) = groups.iter().position(|group| commands(&group.value).any(is_ours)) else { continue };
        let group = groups.get(at)?;
        if commands(&group.value).any(|command| !is_ours(command)) {
            return within(text, &group.value, is_ours);
        }
        let is_alone = |items: &[Item]| items.len() == 1;
        let is_made = event.key.as_ref().is_some_and(|key| made.events.contains(key));
        return Some(match (is_alone(groups) && is_made, is_alone(items(hooks)) && made.hooks) {
            (true, true) => {
                let root = document.root.as_ref()?;
                let place = items(root).iter().position(|item| item.key.as_deref() == Some(HOOKS))?;
                cut(text, root, place)?
            }
            (true, false) => cut(text, hooks, index)?,
            (false, _) => cut(text, &event.value, at)?,
        });
    }
    None
}

/// Cuts our hook out of a group in which there are others.
fn within(text: &str, group: &Node, is_ours: &dyn Fn(&str) -> bool) -> Option<Vec<Range<usize>>> {
    let list = items(group).iter().find(|item| item.key.as_deref() == Some(HOOKS))?;
    let at = items(&list.value).iter().position(|hook| command(&hook.value).is_some_and(is_ours))?;
    cut(text, &list.value, at)
}

/// Returns the commands of a group of hooks.
pub(super) fn commands(group: &Node) -> impl Iterator<Item = &str> {
    hooks(group).filter_map(command)
}

pub(super) fn hooks(group: &Node) -> impl Iterator<Item = &Node> {
    let inner = items(group).iter().filter(|item| item.key.as_deref() == Some(HOOKS));
    inner.flat_map(|list| items(&list.value)).map(|hook| &hook.value)
}

pub(super) fn command(hook: &Node) -> Option<&str> {
    let written = items(hook).iter().find(|item| item.key.as_deref() == Some("command"))?;
    match &written.value.kind {
        Kind::Text(command) => Some(command),
        Kind::Object(_) | Kind::Array(_) | Kind::Other => None,
    }
}

/// Returns what to take out so that one item is gone: with the white space before it and the comma that it needed.
fn cut(text: &str, list: &Node, index: usize) -> Option<Vec<Range<usize>>> {
    let list_items = items(list);
    let item = list_items.get(index)?;
    let before = index.checked_sub(1).and_then(|before| list_items.get(before));
    let begin = before.map_or(list.start + 1, |before| before.comma.map_or(before.value.end, |comma| comma + 1));
    let end = item.comma.map_or(item.value.end, |comma| comma + 1);
    let comment = comments(text, begin, item.start).pop();
    let gap = comment.map_or(begin, |comment| comment.end);
    let rest = text.get(end..)?.trim_start_matches([' ', '\t']);
    // What would come behind a comment to the end of its line would be part of it.
    let is_swallowed = comment.is_some_and(|comment| comment.is_line) && !rest.starts_with(['\n', '\r']);
    let start = if is_swallowed { item.start } else { gap };
    let is_last = index + 1 == list_items.len() && item.comma.is_none();
    let comma = before.and_then(|before| before.comma).filter(|_| is_last).map(|comma| comma..comma + 1);
    Some(comma.into_iter().chain(std::iter::once(start..end)).collect())
}
