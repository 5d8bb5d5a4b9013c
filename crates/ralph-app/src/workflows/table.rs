//! Reads typed values from a table of a workflow file. A wrong value is reported, and reads as missing, so that one pass
//! finds all problems of a file.
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::keys::{KeySupport, WorkflowKey, advice_for_unknown_key};
use super::problem::{Position, ProblemList};
use ralph_util::suggest;
use ralph_util::yaml::{DocumentNode, MapEntry, NodeContent};

#[derive(Clone)]
pub(super) struct Table<'a> {
    entries: &'a [MapEntry],
    node: &'a DocumentNode,
    /// The subject of the table, for messages; empty for the workflow itself.
    scope: String,
    problems: &'a ProblemList,
}

pub(super) fn position_of(node: &DocumentNode) -> Position {
    Position { line: node.line, column: node.column }
}

impl<'a> Table<'a> {
    /// Opens a table. `scope` says what it describes.
    pub(super) fn open(node: &'a DocumentNode, scope: &str, problems: &'a ProblemList) -> Option<Self> {
        let NodeContent::Map(entries) = &node.content else {
            let named = if scope.is_empty() { "a workflow" } else { scope };
            let hint = "write one `key: value` per line".to_owned();
            problems.add_error(position_of(node), &format!("{named}: expected a table"), Some(hint));
            return None;
        };
        Some(Self { entries, node, scope: scope.to_owned(), problems })
    }

    pub(super) fn entries(&self) -> &'a [MapEntry] {
        self.entries
    }

    /// Returns the part of the file that the table is.
    pub(super) fn source(&self) -> &'a DocumentNode {
        self.node
    }

    pub(super) fn scope(&self) -> &str {
        &self.scope
    }

    pub(super) fn problems(&self) -> &'a ProblemList {
        self.problems
    }

    pub(super) fn position(&self) -> Position {
        position_of(self.node)
    }

    /// Gives the table another scope, once more is known about it.
    pub(super) fn with_scope(self, scope: String) -> Self {
        Self { scope, ..self }
    }

    /// Opens the table of a key, if the key has a value.
    pub(super) fn open_child(&self, key: &str) -> Option<Self> {
        Self::open(self.get(key)?, &self.child_scope(key), self.problems)
    }

    pub(super) fn child_scope(&self, key: &str) -> String {
        if self.scope.is_empty() { key.to_owned() } else { format!("{}: {key}", self.scope) }
    }

    /// Reports keys that the table cannot have, and keys that have no effect.
    pub(super) fn check_keys(&self, keys: &[WorkflowKey]) {
        self.check_keys_except(keys, |_| false);
    }

    /// The same, without the keys that `is_free` accepts.
    pub(super) fn check_keys_except(&self, keys: &[WorkflowKey], is_free: impl Fn(&str) -> bool) {
        for entry in self.entries.iter().filter(|entry| !is_free(&entry.key)) {
            let at = Position { line: entry.line, column: entry.column };
            match keys.iter().find(|key| key.name == entry.key) {
                Some(WorkflowKey { support: KeySupport::NoEffect(reason), name, .. }) => {
                    self.problems.add_note_once(at, name, &format!("`{name}` has no effect: {reason}"));
                }
                Some(WorkflowKey { support: KeySupport::Used, .. }) => {}
                None => self.report_unknown_key(entry, keys),
            }
        }
    }

    fn report_unknown_key(&self, entry: &MapEntry, keys: &[WorkflowKey]) {
        let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
        let hint = advice_for_unknown_key(&entry.key)
            .map_or_else(|| suggest::suggestion_hint(&entry.key, &names), str::to_owned);
        let message = format!("{}: unknown key", self.child_scope(&entry.key));
        self.problems.add_error(Position { line: entry.line, column: entry.column }, &message, Some(hint));
    }

    /// Returns the value of a key, unless it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<&'a DocumentNode> {
        let found = self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node);
        found.filter(|node| !matches!(node.content, NodeContent::Null))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns the position of a key, or of the table.
    pub(super) fn key_position(&self, key: &str) -> Position {
        let found = self.entries.iter().find(|entry| entry.key == key);
        found.map_or(self.position(), |entry| Position { line: entry.line, column: entry.column })
    }

    /// Returns the position of the value of a key, or of the table.
    pub(super) fn value_position(&self, key: &str) -> Position {
        position_of(self.get(key).unwrap_or(self.node))
    }

    /// Reports a wrong value.
    pub(super) fn report_value(&self, key: &str, message: &str, hint: &str) {
        let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
        let message = format!("{}: {message}", self.child_scope(key));
        self.problems.add_error(self.value_position(key), &message, hint);
    }

    /// Reports a problem at a position inside the value of a key.
    pub(super) fn report_at(&self, at: Position, key: &str, message: &str, hint: &str) {
        self.problems.add_error(at, &format!("{}: {message}", self.child_scope(key)), Some(hint.to_owned()));
    }

    /// Returns the position of a byte in a string, if the string is written on one line; else that of the string.
    pub(super) fn position_in_value(&self, key: &str, offset: usize) -> Position {
        let Some(node) = self.get(key) else { return self.position() };
        let NodeContent::Text(text) = &node.content else { return position_of(node) };
        let start = text.get(..offset).unwrap_or_default();
        let at = position_of(node);
        if text.contains('\n') {
            return at;
        }
        self.problems.file().position_inside(at, start.chars().count())
    }

    /// Reports a missing key, or a key that should not be there.
    pub(super) fn report_key(&self, key: &str, message: &str, hint: &str) {
        let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
        let message = format!("{}: {message}", self.child_scope(key));
        self.problems.add_error(self.key_position(key), &message, hint);
    }

    /// Reads a string. Numbers and booleans are read as they are written.
    pub(super) fn read_text(&self, key: &str) -> Option<String> {
        self.text_of(key, self.get(key)?).map(str::to_owned)
    }

    /// Reads a string that is not blank.
    pub(super) fn read_filled_text(&self, key: &str) -> Option<String> {
        let text = self.read_text(key)?;
        if text.trim().is_empty() {
            self.report_value(key, "is empty", "write a text, or remove the key");
            return None;
        }
        Some(text)
    }

    /// Reads a string that must be there and not blank. `what` explains it.
    pub(super) fn require_text(&self, key: &str, what: &str) -> Option<String> {
        let written = self.entries.iter().find(|entry| entry.key == key);
        match written.map(|entry| &entry.node.content) {
            None => {
                let message = format!("{}: required key is missing", self.child_scope(key));
                self.problems.add_error(self.position(), &message, Some(format!("add `{key}:`, {what}")));
                None
            }
            Some(NodeContent::Null) => {
                self.report_key(key, "is empty", &format!("write {what}"));
                None
            }
            Some(NodeContent::Text(_) | NodeContent::List(_) | NodeContent::Map(_)) => self.read_filled_text(key),
        }
    }

    fn text_of(&self, key: &str, node: &'a DocumentNode) -> Option<&'a str> {
        let refuse = |message: &str, hint: Option<&str>| {
            let message = format!("{}: {message}", self.child_scope(key));
            self.problems.add_error(position_of(node), &message, hint.map(str::to_owned));
            None
        };
        match &node.content {
            NodeContent::Text(text) if text.contains('\0') => refuse("the value contains a NUL character", None),
            NodeContent::Text(text) => Some(text),
            NodeContent::Null => refuse("no value: expected a string", None),
            NodeContent::List(_) => refuse("expected a string, found a list", None),
            NodeContent::Map(_) => {
                refuse("expected a string, found a table", Some("quote a string that contains `: `"))
            }
        }
    }

    pub(super) fn read_flag(&self, key: &str) -> Option<bool> {
        let node = self.get(key)?;
        match self.text_of(key, node)? {
            "true" if node.style.is_bare() => Some(true),
            "false" if node.style.is_bare() => Some(false),
            other => {
                self.report_value(key, &format!("{other:?} is neither true nor false"), "write true or false");
                None
            }
        }
    }

    /// Reads a whole number within bounds.
    pub(super) fn read_number(&self, key: &str, bounds: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let node = self.get(key)?;
        let text = self.text_of(key, node)?;
        let digits = text.replace('_', "");
        let parsed = parse_whole_number(&digits).filter(|_| node.style.is_bare());
        let Some(number) = parsed else {
            self.report_value(key, &format!("{text:?} is not a whole number"), "write digits, such as 10");
            return None;
        };
        if !bounds.contains(&number) {
            let message = match *bounds.end() {
                u64::MAX => format!("{number} is too small: the minimum is {}", bounds.start()),
                end => format!("{number} is not between {} and {end}", bounds.start()),
            };
            self.report_value(key, &message, "");
            return None;
        }
        Some(number)
    }

    pub(super) fn read_count(&self, key: &str, bounds: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let number = self.read_number(key, u64::from(*bounds.start())..=u64::from(*bounds.end()))?;
        u32::try_from(number).ok()
    }

    /// Reads a time in milliseconds.
    pub(super) fn read_milliseconds(&self, key: &str) -> Option<u64> {
        let written = self.read_number(key, 1..=MAX_MILLISECONDS)?;
        if written < SHORTEST_PLAUSIBLE_MS {
            let scope = self.child_scope(key);
            let message = format!("{scope}: {written} is {written} milliseconds: times of nodes are in milliseconds");
            self.problems.add_note(self.value_position(key), &message, Some(format!("write {written}000 for seconds")));
        }
        Some(written)
    }

    pub(super) fn read_amount(&self, key: &str) -> Option<f64> {
        let text = self.text_of(key, self.get(key)?)?;
        let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
        if amount.is_none() {
            self.report_value(key, &format!("{text:?} is not an amount of dollars"), "write a number, such as 0.50");
        }
        amount
    }

    pub(super) fn read_list(&self, key: &str) -> Option<&'a [DocumentNode]> {
        match &self.get(key)?.content {
            NodeContent::List(items) => Some(items),
            NodeContent::Null | NodeContent::Text(_) | NodeContent::Map(_) => {
                self.report_value(key, "expected a list", "write one `- item` per line, or [first, second]");
                None
            }
        }
    }

    /// Reads a list of strings that are not empty, with their positions.
    pub(super) fn read_names(&self, key: &str) -> Option<Vec<(String, Position)>> {
        let items = self.read_list(key)?;
        let name = |item: &'a DocumentNode| match self.text_of(key, item)? {
            "" => {
                let message = format!("{}: an item is empty", self.child_scope(key));
                self.problems.add_error(position_of(item), &message, None);
                None
            }
            text => Some((text.to_owned(), position_of(item))),
        };
        Some(items.iter().filter_map(name).collect())
    }

    pub(super) fn read_texts(&self, key: &str) -> Option<Vec<String>> {
        Some(self.read_names(key)?.into_iter().map(|(name, _)| name).collect())
    }

    pub(super) fn read_choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text_of(key, self.get(key)?)?;
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let hint = suggest::suggestion_hint(text, &names);
            self.report_value(key, &format!("{text:?} is not a valid value"), &hint);
        }
        found
    }

    /// Reads a table of values of any kind.
    pub(super) fn read_values(&self, key: &str) -> Option<BTreeMap<String, Value>> {
        let table = self.open_child(key)?;
        Some(table.entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.node))).collect())
    }
}

/// The longest time of a node: a year.
const MAX_MILLISECONDS: u64 = 366 * 24 * 3_600_000;
/// A shorter time was probably meant as seconds.
const SHORTEST_PLAUSIBLE_MS: u64 = 1_000;

/// Converts a value to JSON. Unquoted scalars may become numbers or booleans.
pub(crate) fn to_json(node: &DocumentNode) -> Value {
    match &node.content {
        NodeContent::Null => Value::Null,
        NodeContent::Text(text) if node.style.is_bare() => match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_number() || value.is_boolean() => value,
            Ok(_) | Err(_) => Value::String(text.clone()),
        },
        NodeContent::Text(text) => Value::String(text.clone()),
        NodeContent::List(items) => items.iter().map(to_json).collect(),
        NodeContent::Map(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.node))).collect::<Map<_, _>>().into()
        }
    }
}

/// Reads a whole number of YAML: `120000`, or as a float, `1.2e5` or `120000.0`.
fn parse_whole_number(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let is_float = text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let number: f64 = text.parse().ok().filter(|_| is_float)?;
    // Floats up to this size are exact.
    (number.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&number)).then_some(number as u64)
}
