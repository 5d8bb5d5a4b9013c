//! Puts hooks into settings by inserting text, and nothing but inserting: taking the same spans out again gives every
//! byte as it was.
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::layout::Layout;
use super::parse::{Document, Kind, Malformed, comments, malformed};
use super::{HOOKS, Hook, Made, events};

/// A part of the new text that was not in the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub at: usize,
    pub length: usize,
}

/// Settings with our hooks in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    pub text: String,
    pub inserted: Vec<Span>,
    pub made: Made,
}

/// Puts hooks behind those that are there.
pub fn add(text: &str, hooks: &[Hook]) -> Result<Merged, Malformed> {
    let mut merged = Merged { text: text.to_owned(), inserted: Vec::new(), made: Made::default() };
    if Document::parse(text)?.root.is_none() {
        // What stands behind a comment to the end of its line would be part of it.
        if ends_in_line_comment(text) {
            merged.insert(text.len(), "\n");
        }
        let end = merged.text.len();
        merged.insert(end, "{}");
        merged.insert(end + 2, "\n");
    }
    hooks.iter().try_for_each(|hook| merged.hook(hook))?;
    Ok(merged)
}

fn ends_in_line_comment(text: &str) -> bool {
    let last = comments(text, 0, text.len()).pop().filter(|last| last.is_line);
    last.is_some_and(|last| !text.get(last.end..).unwrap_or_default().contains('\n'))
}

impl Merged {
    fn hook(&mut self, hook: &Hook) -> Result<(), Malformed> {
        let text = self.text.clone();
        let document = Document::parse(&text)?;
        let layout = Layout::of(&text, &document);
        let Some(root) = &document.root else {
            return Err(malformed(&text, text.len(), "there is no object to put hooks into"));
        };
        let list = json!([hook.entry]);
        let inserted = match events(&text, &document)? {
            None => {
                self.made.hooks = true;
                self.made.events.push(hook.event.to_owned());
                layout.insertions(&text, root, (Some(HOOKS), &json!({ hook.event: list })))
            }
            Some(events) => match events.member(&text, hook.event)? {
                None => {
                    self.made.events.push(hook.event.to_owned());
                    layout.insertions(&text, events, (Some(hook.event), &list))
                }
                Some(list) if matches!(list.kind, Kind::Array(_)) => {
                    layout.insertions(&text, list, (None, &hook.entry))
                }
                Some(other) => {
                    return Err(malformed(&text, other.start, format!("{:?} is no list of hooks", hook.event)));
                }
            },
        };
        // From behind, so that the places of the others still hold.
        inserted.iter().rev().for_each(|(at, words)| self.insert(*at, words));
        Ok(())
    }

    fn insert(&mut self, at: usize, words: &str) {
        let length = words.len();
        self.text.insert_str(at, words);
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
            self.inserted.push(Span { at, length });
        }
    }
}

/// Takes out what was inserted; none if the spans do not fit the text.
#[must_use]
pub fn undo(text: &str, inserted: &[Span]) -> Option<String> {
    let mut spans = inserted.to_vec();
    spans.sort_by_key(|span| std::cmp::Reverse(span.at));
    let mut old = text.to_owned();
    for Span { at, length } in spans {
        let end = at.checked_add(length).filter(|end| old.is_char_boundary(*end))?;
        if !old.is_char_boundary(at) {
            return None;
        }
        old.drain(at..end);
    }
    Some(old)
}
