//! How a text is laid out, so that what is added looks like what is there.
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::items;
use super::parse::{Document, Node, comments, white};

pub(super) struct Layout {
    /// The end of a line.
    line: &'static str,
    /// One step of indentation.
    step: String,
    /// Everything stands on one line.
    is_one_line: bool,
}

impl Layout {
    pub(super) fn of(text: &str, document: &Document) -> Self {
        let line = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let root = document.root.as_ref();
        let first = root.and_then(|root| items(root).first());
        let step = first.and_then(|item| own_indent(text, item.start)).filter(|indent| !indent.is_empty());
        let is_one_line = first.is_some() && root.is_some_and(|root| !text_of(text, root).contains('\n'));
        Self { line, step: step.unwrap_or("  ").to_owned(), is_one_line }
    }

    /// Returns what is inserted, each at its place, to have one more item in an object or a list.
    pub(super) fn insertions(&self, text: &str, list: &Node, item: (Option<&str>, &Value)) -> Vec<(usize, String)> {
        let base = line_indent(text, list.start);
        match items(list).last() {
            None if self.is_one_line => vec![(list.start + 1, self.item(item, None))],
            None => {
                let indent = format!("{base}{}", self.step);
                let has_line = inner(text, list).get(..white(inner(text, list))).is_some_and(|gap| gap.contains('\n'));
                let end = if has_line { String::new() } else { format!("{}{base}", self.line) };
                vec![(list.start + 1, format!("{}{indent}{}{end}", self.line, self.item(item, Some(&indent))))]
            }
            Some(last) => {
                let (trailing, after) = last.comma.map_or(("", last.value.end), |comma| (",", comma + 1));
                let comma = last.comma.is_none().then(|| (last.value.end, ",".to_owned()));
                let added = if self.is_one_line || !text_of(text, list).contains('\n') {
                    let gap = if text_of(text, list).contains(", ") { " " } else { "" };
                    (after, format!("{gap}{}{trailing}", self.item(item, None)))
                } else {
                    let indent = own_indent(text, last.start);
                    let indent = indent.map_or_else(|| format!("{base}{}", self.step), str::to_owned);
                    let words = self.item(item, Some(&indent));
                    (beside(text, after), format!("{}{indent}{words}{trailing}", self.line))
                };
                comma.into_iter().chain([added]).collect()
            }
        }
    }

    /// Writes an item; with an indentation over several lines.
    fn item(&self, (key, value): (Option<&str>, &Value), indent: Option<&str>) -> String {
        let (value, gap) = match indent {
            Some(indent) => (self.pretty(value).replace('\n', &format!("{}{indent}", self.line)), " "),
            None => (value.to_string(), ""),
        };
        key.map_or_else(|| value.clone(), |key| format!("{}:{gap}{value}", Value::from(key)))
    }

    fn pretty(&self, value: &Value) -> String {
        let mut written = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.step.as_bytes());
        // Writing a value into memory cannot fail.
        let _ = value.serialize(&mut Serializer::with_formatter(&mut written, formatter));
        String::from_utf8(written).unwrap_or_default()
    }
}

fn text_of<'a>(text: &'a str, node: &Node) -> &'a str {
    text.get(node.start..node.end).unwrap_or_default()
}

/// Returns what stands between the brackets.
fn inner<'a>(text: &'a str, list: &Node) -> &'a str {
    text.get(list.start + 1..list.end - 1).unwrap_or_default()
}

/// Returns the indentation of the line on which something stands.
fn line_indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let rest = text.get(line..).unwrap_or_default();
    rest.get(..rest.len() - rest.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

/// The same, where nothing stands before it on its line.
fn own_indent(text: &str, at: usize) -> Option<&str> {
    let indent = line_indent(text, at);
    let before = text.get(..at)?;
    let line = before.rfind('\n')? + 1;
    (line + indent.len() == at).then_some(indent)
}

/// Returns the end of the comments that stand beside something, on the same line.
fn beside(text: &str, after: usize) -> usize {
    let rest = text.get(after..).unwrap_or_default();
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    let mut end = after;
    for comment in comments(text, after, after + line.len()) {
        let gap = text.get(end..comment.start).unwrap_or("?");
        if !gap.trim().is_empty() || comment.end > after + line.len() {
            break;
        }
        end = comment.end;
    }
    end
}
