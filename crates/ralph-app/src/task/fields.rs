//! A table of fields: what each may hold. Fields that nobody knows are errors with a suggestion.
use std::collections::BTreeMap;

use super::{TaskError, read};
use ralph_util::suggest;
use ralph_util::yaml::{Content, Entry, Node, Written};

pub(super) struct Fields<'a> {
    pub(super) file: &'a str,
    /// Where the table stands, with a dot at its end unless it is the task itself.
    path: String,
    entries: &'a [Entry],
    node: &'a Node,
}

impl<'a> Fields<'a> {
    /// Takes a table apart that has no other fields than these.
    pub(super) fn of(node: &'a Node, file: &'a str, path: &str, known: &[&str]) -> Result<Self, TaskError> {
        let fields = Self::any(node, file, path)?;
        match fields.entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            None => Ok(fields),
            Some(entry) => Err(fields.unknown(entry, known)),
        }
    }

    /// Takes a table apart, whatever fields it has.
    pub(super) fn any(node: &'a Node, file: &'a str, path: &str) -> Result<Self, TaskError> {
        let dotted = if path.is_empty() { String::new() } else { format!("{path}.") };
        match &node.content {
            Content::Map(entries) => Ok(Self { file, path: dotted, entries, node }),
            Content::Nothing | Content::Text(_) | Content::List(_) => {
                let named = if path.is_empty() { "a task".to_owned() } else { path.to_owned() };
                let what = format!("{named}: a table is expected");
                Err(TaskError::new(place(file, node), &what).hint("write `key: value`, one a line"))
            }
        }
    }

    fn unknown(&self, entry: &Entry, known: &[&str]) -> TaskError {
        let at = format!("{}:{}:{}", self.file, entry.line, entry.column);
        TaskError::new(at, &format!("there is no field {}{}", self.path, entry.key))
            .hint(meant(&entry.key, known))
    }

    pub(super) fn entries(&self) -> &'a [Entry] {
        self.entries
    }

    /// Returns a field that says something.
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        let found = self.entries.iter().find(|entry| entry.key == name).map(|entry| &entry.node);
        found.filter(|node| !matches!(node.content, Content::Nothing))
    }

    pub(super) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    /// Refuses a field.
    pub(super) fn refuse(&self, name: &str, what: &str) -> TaskError {
        let node = self.get(name).unwrap_or(self.node);
        TaskError::new(place(self.file, node), &format!("{}{name}: {what}", self.path))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, TaskError> {
        self.get(name).map(|node| self.words(name, node).map(str::to_owned)).transpose()
    }

    /// Reads a text that may also be written as a number or a truth value.
    pub(super) fn any_text(&self, name: &str) -> Result<Option<String>, TaskError> {
        self.get(name).map(|node| self.scalar(name, node).map(str::to_owned)).transpose()
    }

    /// Reads a number or a truth value as it is written. JSON has no quotation marks around them.
    pub(super) fn number(&self, name: &str) -> Result<Option<String>, TaskError> {
        match self.get(name) {
            Some(node) if node.written == Written::Quoted => {
                Err(self.refuse(name, "it is a text").hint("leave out the quotation marks"))
            }
            Some(_) | None => self.any_text(name),
        }
    }

    /// In JSON, a text stands in quotation marks; what does not is a mistake.
    fn words(&self, name: &str, node: &'a Node) -> Result<&'a str, TaskError> {
        match (&node.content, node.written) {
            (Content::Text(text), Written::Literal) => {
                let what = format!("{}{name}: {text} is no text", self.path);
                Err(TaskError::new(place(self.file, node), &what).hint("put it into quotation marks"))
            }
            (
                Content::Nothing | Content::Text(_) | Content::List(_) | Content::Map(_),
                Written::Plain | Written::Bare | Written::Quoted | Written::Literal,
            ) => self.scalar(name, node),
        }
    }

    fn scalar(&self, name: &str, node: &'a Node) -> Result<&'a str, TaskError> {
        let refused =
            |what: &str| Err(TaskError::new(place(self.file, node), &format!("{}{name}: {what}", self.path)));
        match &node.content {
            Content::Text(text) if text.contains('\0') => refused("it holds a NUL character"),
            Content::Text(text) => Ok(text),
            Content::Nothing => refused("it has no value: a text is expected"),
            Content::List(_) => refused("it is a list: a text is expected"),
            Content::Map(_) => {
                let hint = "a text with `: ` in it stands in quotation marks";
                refused("it is a table: a text is expected").map_err(|error| error.hint(hint))
            }
        }
    }

    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, TaskError> {
        let Some(items) = self.list(name)? else { return Ok(None) };
        let text =
            |(at, item): (usize, &'a Node)| self.words(&format!("{name}.{at}"), item).map(str::to_owned);
        items.iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// Reads texts that may also be written as numbers or truth values.
    pub(super) fn any_texts(&self, name: &str) -> Result<Option<Vec<String>>, TaskError> {
        let Some(items) = self.list(name)? else { return Ok(None) };
        let text =
            |(at, item): (usize, &'a Node)| self.scalar(&format!("{name}.{at}"), item).map(str::to_owned);
        items.iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<&'a [Node]>, TaskError> {
        let Some(node) = self.get(name) else { return Ok(None) };
        match &node.content {
            Content::List(items) => Ok(Some(items)),
            Content::Nothing | Content::Text(_) | Content::Map(_) => {
                let hint = "write one `- item` a line, or [first, second]";
                Err(self.refuse(name, "a list is expected").hint(hint))
            }
        }
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<u32>, TaskError> {
        let Some(text) = self.number(name)? else { return Ok(None) };
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_plain);
        let refused = || self.refuse(name, &format!("{text:?} is not a whole number")).hint("such as 10");
        number.ok_or_else(refused).map(Some)
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, TaskError> {
        match self.number(name)?.as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(self.refuse(name, &format!("{other:?} is neither true nor false"))),
        }
    }

    /// Reads one of several names.
    pub(super) fn choice<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
        known: &[&str],
    ) -> Result<Option<T>, TaskError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let refused = || self.refuse(name, &format!("{text:?} means nothing here"));
        parse(&text).ok_or_else(|| refused().hint(suggest::hint(&text, known))).map(Some)
    }

    pub(super) fn table(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, TaskError> {
        let Some(node) = self.get(name) else { return Ok(None) };
        let below = Self::any(node, self.file, &self.path(name))?;
        let pair = |entry: &'a Entry| {
            below.words(&entry.key, &entry.node).map(|text| (entry.key.clone(), text.to_owned()))
        };
        below.entries.iter().map(pair).collect::<Result<_, _>>().map(Some)
    }
}

/// Returns the field that was probably meant, or where one of that name belongs.
fn meant(key: &str, known: &[&str]) -> String {
    match (suggest::near(key, known), read::home(key)) {
        (None, Some(home)) => format!("it belongs below {home}"),
        (Some(_), _) | (None, None) => suggest::hint(key, known),
    }
}

pub(super) fn place(file: &str, node: &Node) -> String {
    format!("{file}:{}:{}", node.line, node.column)
}
