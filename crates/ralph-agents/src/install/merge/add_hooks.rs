//! Adds hooks to settings only by inserting text, so that removing the inserted spans restores every byte.
use serde::{Deserialize, Serialize};
use serde_json::json;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

use super::settings_document::{MalformedSettings, SettingsDocument, skip_bom};
use super::settings_layout::SettingsLayout;
use super::{CreatedMembers, HOOKS, Hook, find_events_object};

/// A part of the new text that was not in the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsertedSpan {
    pub at: usize,
    pub length: usize,
}

/// Settings with ralph's hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedSettings {
    pub text: String,
    pub inserted: Vec<InsertedSpan>,
    pub created: CreatedMembers,
}

/// Adds hooks after the existing ones.
pub fn add_hooks(text: &str, hooks: &[Hook]) -> Result<MergedSettings, MalformedSettings> {
    let body = skip_bom(text);
    let (bom, _) = text.split_at(text.len() - body.len());
    let mut merged = MergedSettings { text: body.to_owned(), inserted: Vec::new(), created: CreatedMembers::default() };
    let document = SettingsDocument::parse(body)?;
    if document.root.is_none() {
        let line_end = if document.ends_in_line_comment() { "\n" } else { "" };
        merged.insert(body.len(), &format!("{line_end}{{}}\n"));
    }
    hooks.iter().try_for_each(|hook| merged.add_hook(hook))?;
    merged.text.insert_str(0, bom);
    merged.inserted.iter_mut().for_each(|span| span.at += bom.len());
    Ok(merged)
}

impl MergedSettings {
    fn add_hook(&mut self, hook: &Hook) -> Result<(), MalformedSettings> {
        let text = self.text.clone();
        let document = SettingsDocument::parse(&text)?;
        let layout = SettingsLayout::of(&document);
        let Some(root) = &document.root else {
            return Err(document.error(text.len(), "the settings have no object for hooks"));
        };
        let list = json!([hook.entry]);
        let insertions = match find_events_object(&document)? {
            None => {
                self.created.hooks = true;
                self.created.events.push(hook.event.to_owned());
                layout.insertions(root, Some(HOOKS), &json!({ hook.event: list }))
            }
            Some(events) => match document.member(events, hook.event)? {
                None => {
                    self.created.events.push(hook.event.to_owned());
                    layout.insertions(events, Some(hook.event), &list)
                }
                Some(list @ Value::Array(_)) => layout.insertions(list, None, &hook.entry),
                Some(other) => {
                    return Err(document.error(other.start(), format!("{:?} is not a list of hooks", hook.event)));
                }
            },
        };
        // From the end, so that the earlier positions stay valid.
        insertions.iter().rev().for_each(|(at, added)| self.insert(*at, added));
        Ok(())
    }

    fn insert(&mut self, at: usize, added: &str) {
        let length = added.len();
        self.text.insert_str(at, added);
        let mut is_inside = false;
        for span in &mut self.inserted {
            if span.at < at && at < span.at + span.length {
                span.length += length;
                is_inside = true;
            } else if span.at >= at {
                span.at += length;
            }
        }
        if !is_inside {
            self.inserted.push(InsertedSpan { at, length });
        }
    }
}

/// Removes what was inserted. Returns `None` if the spans do not fit the text.
#[must_use]
pub fn undo_insertions(text: &str, inserted: &[InsertedSpan]) -> Option<String> {
    let mut spans = inserted.to_vec();
    spans.sort_by_key(|span| std::cmp::Reverse(span.at));
    let mut old = text.to_owned();
    for InsertedSpan { at, length } in spans {
        let end = at.checked_add(length)?;
        old.get(at..end)?;
        old.drain(at..end);
    }
    Some(old)
}
