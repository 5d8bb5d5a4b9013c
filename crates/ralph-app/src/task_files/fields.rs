//! Reads typed fields from a table. Unknown fields are errors with a suggestion.
use std::collections::BTreeMap;

use super::{TaskError, parser};
use ralph_util::suggest;
use ralph_util::yaml::{DocumentNode, MapEntry, NodeContent, ScalarStyle};

pub(super) struct FieldTable<'a> {
    pub(super) file_name: &'a str,
    /// The path of the table with a trailing dot; empty for the task itself.
    prefix: String,
    entries: &'a [MapEntry],
    node: &'a DocumentNode,
}

impl<'a> FieldTable<'a> {
    /// Opens a table; a field that is not in `known` is an error.
    pub(super) fn with_known_fields(
        node: &'a DocumentNode,
        file: &'a str,
        path: &str,
        known: &[&str],
    ) -> Result<Self, TaskError> {
        let fields = Self::with_any_fields(node, file, path)?;
        match fields.entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            None => Ok(fields),
            Some(entry) => Err(fields.unknown_field_error(entry, known)),
        }
    }

    /// Opens a table with any fields.
    pub(super) fn with_any_fields(node: &'a DocumentNode, file: &'a str, path: &str) -> Result<Self, TaskError> {
        let dotted = if path.is_empty() { String::new() } else { format!("{path}.") };
        match &node.content {
            NodeContent::Map(entries) => Ok(Self { file_name: file, prefix: dotted, entries, node }),
            NodeContent::Null | NodeContent::Text(_) | NodeContent::List(_) => {
                let named = if path.is_empty() { "a task".to_owned() } else { path.to_owned() };
                let message = format!("{named}: expected a table");
                Err(TaskError::new(format_place(file, node), &message).with_hint("write one `key: value` per line"))
            }
        }
    }

    fn unknown_field_error(&self, entry: &MapEntry, known: &[&str]) -> TaskError {
        let at = format!("{}:{}:{}", self.file_name, entry.line, entry.column);
        TaskError::new(at, &format!("there is no field {}{}", self.prefix, entry.key))
            .with_hint(suggest_field(&entry.key, known))
    }

    pub(super) fn entries(&self) -> &'a [MapEntry] {
        self.entries
    }

    /// Returns a field, unless it is missing or null.
    pub(super) fn get(&self, name: &str) -> Option<&'a DocumentNode> {
        let found = self.entries.iter().find(|entry| entry.key == name).map(|entry| &entry.node);
        found.filter(|node| !matches!(node.content, NodeContent::Null))
    }

    pub(super) fn field_path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Returns an error at the position of a field.
    pub(super) fn field_error(&self, name: &str, message: &str) -> TaskError {
        let node = self.get(name).unwrap_or(self.node);
        TaskError::new(format_place(self.file_name, node), &format!("{}{name}: {message}", self.prefix))
    }

    pub(super) fn read_text(&self, name: &str) -> Result<Option<String>, TaskError> {
        self.get(name).map(|node| self.require_text(name, node).map(str::to_owned)).transpose()
    }

    /// Reads a string that may also be written as a number or boolean.
    pub(super) fn read_any_text(&self, name: &str) -> Result<Option<String>, TaskError> {
        self.get(name).map(|node| self.require_scalar(name, node).map(str::to_owned)).transpose()
    }

    /// Reads a number or boolean verbatim. In JSON it must not be quoted.
    pub(super) fn read_number(&self, name: &str) -> Result<Option<String>, TaskError> {
        match self.get(name) {
            Some(node) if node.style == ScalarStyle::Quoted => Err(self
                .field_error(name, "expected a number or boolean, found a string")
                .with_hint("remove the quotation marks")),
            Some(_) | None => self.read_any_text(name),
        }
    }

    /// Returns a string. In JSON it must be quoted.
    fn require_text(&self, name: &str, node: &'a DocumentNode) -> Result<&'a str, TaskError> {
        match (&node.content, node.style) {
            (NodeContent::Text(text), ScalarStyle::Literal) => {
                let message = format!("{}{name}: {text} is not a string", self.prefix);
                Err(TaskError::new(format_place(self.file_name, node), &message).with_hint("put it in quotation marks"))
            }
            (
                NodeContent::Null | NodeContent::Text(_) | NodeContent::List(_) | NodeContent::Map(_),
                ScalarStyle::Plain | ScalarStyle::Bare | ScalarStyle::Quoted | ScalarStyle::Literal,
            ) => self.require_scalar(name, node),
        }
    }

    fn require_scalar(&self, name: &str, node: &'a DocumentNode) -> Result<&'a str, TaskError> {
        let refused = |message: &str| {
            Err(TaskError::new(format_place(self.file_name, node), &format!("{}{name}: {message}", self.prefix)))
        };
        match &node.content {
            NodeContent::Text(text) if text.contains('\0') => refused("the value contains a NUL character"),
            NodeContent::Text(text) => Ok(text),
            NodeContent::Null => refused("no value: expected a string"),
            NodeContent::List(_) => refused("found a list, expected a string"),
            NodeContent::Map(_) => {
                let hint = "quote a string that contains `: `";
                refused("found a table, expected a string").map_err(|error| error.with_hint(hint))
            }
        }
    }

    pub(super) fn read_texts(&self, name: &str) -> Result<Option<Vec<String>>, TaskError> {
        let Some(items) = self.read_list(name)? else { return Ok(None) };
        let text =
            |(at, item): (usize, &'a DocumentNode)| self.require_text(&format!("{name}.{at}"), item).map(str::to_owned);
        items.iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// Reads a list of strings that may also be written as numbers or booleans.
    pub(super) fn read_any_texts(&self, name: &str) -> Result<Option<Vec<String>>, TaskError> {
        let Some(items) = self.read_list(name)? else { return Ok(None) };
        let text = |(at, item): (usize, &'a DocumentNode)| {
            self.require_scalar(&format!("{name}.{at}"), item).map(str::to_owned)
        };
        items.iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn read_list(&self, name: &str) -> Result<Option<&'a [DocumentNode]>, TaskError> {
        let Some(node) = self.get(name) else { return Ok(None) };
        match &node.content {
            NodeContent::List(items) => Ok(Some(items)),
            NodeContent::Null | NodeContent::Text(_) | NodeContent::Map(_) => {
                let hint = "write one `- item` per line, or [first, second]";
                Err(self.field_error(name, "expected a list").with_hint(hint))
            }
        }
    }

    pub(super) fn read_count(&self, name: &str) -> Result<Option<u32>, TaskError> {
        let Some(text) = self.read_number(name)? else { return Ok(None) };
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_plain);
        let refused = || {
            self.field_error(name, &format!("{text:?} is not a whole number")).with_hint("write a number such as 10")
        };
        number.ok_or_else(refused).map(Some)
    }

    pub(super) fn read_flag(&self, name: &str) -> Result<Option<bool>, TaskError> {
        match self.read_number(name)?.as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(self.field_error(name, &format!("{other:?} is neither true nor false"))),
        }
    }

    /// Reads one of the names in a fixed set.
    pub(super) fn read_choice<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
        known: &[&str],
    ) -> Result<Option<T>, TaskError> {
        let Some(text) = self.read_text(name)? else { return Ok(None) };
        let refused = || self.field_error(name, &format!("{text:?} is not a valid value"));
        parse(&text).ok_or_else(|| refused().with_hint(suggest::suggestion_hint(&text, known))).map(Some)
    }

    pub(super) fn read_table(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, TaskError> {
        let Some(node) = self.get(name) else { return Ok(None) };
        let below = Self::with_any_fields(node, self.file_name, &self.field_path(name))?;
        let pair = |entry: &'a MapEntry| {
            below.require_text(&entry.key, &entry.node).map(|text| (entry.key.clone(), text.to_owned()))
        };
        below.entries.iter().map(pair).collect::<Result<_, _>>().map(Some)
    }
}

/// Suggests a similar field, or the table that a field of this name belongs to.
fn suggest_field(key: &str, known: &[&str]) -> String {
    match (suggest::nearest_name(key, known), parser::find_parent_table(key)) {
        (None, Some(parent)) => format!("it belongs to {parent}"),
        (Some(_), _) | (None, None) => suggest::suggestion_hint(key, known),
    }
}

pub(super) fn format_place(file: &str, node: &DocumentNode) -> String {
    format!("{file}:{}:{}", node.line, node.column)
}
