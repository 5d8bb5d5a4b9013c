//! The layout of settings, so that added text looks like the text around it.
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::settings_document::{DocumentItem, SettingsDocument, items};

pub(super) struct SettingsLayout<'a> {
    document: &'a SettingsDocument<'a>,
    line_end: &'static str,
    /// One step of indentation.
    step: &'a str,
    is_one_line: bool,
}

impl<'a> SettingsLayout<'a> {
    pub(super) fn of(document: &'a SettingsDocument<'a>) -> Self {
        let line_end = if document.text.contains("\r\n") { "\r\n" } else { "\n" };
        let root = document.root.as_ref();
        let first = root.and_then(|root| items(root).into_iter().next());
        let step = first.as_ref().and_then(|item| own_indent(document.text, item.start));
        let is_one_line = first.is_some() && root.is_some_and(|root| !root.text(document.text).contains('\n'));
        Self { document, line_end, step: step.filter(|step| !step.is_empty()).unwrap_or("  "), is_one_line }
    }

    /// Returns the texts to insert, with their positions, to append an item to an object or an array.
    pub(super) fn insertions(&self, list: &ast::Value<'_>, key: Option<&str>, value: &Value) -> Vec<(usize, String)> {
        match items(list).last() {
            None => vec![(list.start() + 1, self.only_item(list, key, value))],
            Some(last) => self.next_item(list, last, key, value),
        }
    }

    fn only_item(&self, list: &ast::Value<'_>, key: Option<&str>, value: &Value) -> String {
        if self.is_one_line {
            return self.item(key, value, None);
        }
        let base = line_indent(self.document.text, list.start());
        let indent = format!("{base}{}", self.step);
        let inner = self.document.slice(list.start() + 1..list.end() - 1);
        let (gap, _) = inner.split_at(inner.len() - inner.trim_start().len());
        let end = if gap.contains('\n') { String::new() } else { format!("{}{base}", self.line_end) };
        format!("{}{indent}{}{end}", self.line_end, self.item(key, value, Some(&indent)))
    }

    fn next_item(
        &self,
        list: &ast::Value<'_>,
        last: &DocumentItem<'_>,
        key: Option<&str>,
        value: &Value,
    ) -> Vec<(usize, String)> {
        let (text, end) = (self.document.text, last.value.end());
        let comma = self.document.comma_after(last);
        let (trailing, after) = comma.map_or(("", end), |comma| (",", comma + 1));
        let added = if self.is_one_line || !list.text(text).contains('\n') {
            let gap = if list.text(text).contains(", ") { " " } else { "" };
            (after, format!("{gap}{}{trailing}", self.item(key, value, None)))
        } else {
            let indent = own_indent(text, last.start)
                .map_or_else(|| format!("{}{}", line_indent(text, list.start()), self.step), str::to_owned);
            let item = self.item(key, value, Some(&indent));
            (self.end_of_comments_beside(after), format!("{}{indent}{item}{trailing}", self.line_end))
        };
        let missing_comma = comma.is_none().then(|| (end, ",".to_owned()));
        missing_comma.into_iter().chain([added]).collect()
    }

    /// Formats an item; with an indentation, over several lines.
    fn item(&self, key: Option<&str>, value: &Value, indent: Option<&str>) -> String {
        let (value, gap) = match indent {
            Some(indent) => (self.pretty(value).replace('\n', &format!("{}{indent}", self.line_end)), " "),
            None => (value.to_string(), ""),
        };
        key.map_or_else(|| value.clone(), |key| format!("{}:{gap}{value}", Value::from(key)))
    }

    fn pretty(&self, value: &Value) -> String {
        let mut written = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.step.as_bytes());
        // Writing a value to memory cannot fail.
        let _ = value.serialize(&mut Serializer::with_formatter(&mut written, formatter));
        String::from_utf8(written).unwrap_or_default()
    }

    /// Returns the end of the comments that follow a position on the same line.
    fn end_of_comments_beside(&self, after: usize) -> usize {
        let rest = self.document.slice(after..self.document.text.len());
        let line_end = after + rest.find(['\n', '\r']).unwrap_or(rest.len());
        let mut end = after;
        for comment in self.document.comments_in(after..line_end) {
            if comment.end() > line_end || !self.document.slice(end..comment.start()).trim().is_empty() {
                break;
            }
            end = comment.end();
        }
        end
    }
}

/// Returns the indentation of the line that contains a position.
fn line_indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let rest = text.get(before.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or_default();
    rest.get(..rest.len() - rest.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

/// Returns the indentation before a position if nothing else is before it on its line.
fn own_indent(text: &str, at: usize) -> Option<&str> {
    let line = text.get(..at)?.rfind('\n')? + 1;
    let indent = line_indent(text, at);
    (line + indent.len() == at).then_some(indent)
}
