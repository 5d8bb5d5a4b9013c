//! Reads JSON with comments and trailing commas, and keeps the place of everything. It changes nothing.
use serde_json::{Map, Value};

/// Settings that nest deeper were not written by people.
const DEEPEST: usize = 128;

/// Why a text is not understood, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct Malformed {
    pub line: usize,
    pub column: usize,
    pub what: String,
}

pub(super) fn malformed(text: &str, at: usize, what: impl Into<String>) -> Malformed {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().trim_start_matches(BOM).chars().count() + 1;
    Malformed { line, column, what: what.into() }
}

pub(super) const BOM: char = '\u{feff}';

/// A whole text. One without any value has no root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) root: Option<Node>,
}

/// A value from its first byte to behind its last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Object(Vec<Item>),
    Array(Vec<Item>),
    Text(String),
    Other,
}

/// A member of an object, or an element of an array, which has no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// Where its key begins, or its value.
    pub(super) start: usize,
    pub(super) key: Option<String>,
    pub(super) value: Node,
    /// Where the comma behind it stands.
    pub(super) comma: Option<usize>,
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Self, Malformed> {
        let mut reader = Reader { text, at: if text.starts_with(BOM) { BOM.len_utf8() } else { 0 } };
        reader.skip()?;
        if reader.at == text.len() {
            return Ok(Self { root: None });
        }
        let root = reader.value(0)?;
        reader.skip()?;
        match reader.at == text.len() {
            true => Ok(Self { root: Some(root) }),
            false => Err(reader.error("something stands behind the end")),
        }
    }
}

impl Node {
    /// Returns the value of a key. Two of the same key mean that nobody knows which one holds.
    pub(super) fn member(&self, text: &str, key: &str) -> Result<Option<&Self>, Malformed> {
        let items: &[Item] = match &self.kind {
            Kind::Object(items) => items,
            Kind::Array(_) | Kind::Text(_) | Kind::Other => &[],
        };
        let mut found = items.iter().filter(|item| item.key.as_deref() == Some(key));
        let first = found.next();
        match found.next() {
            Some(second) => Err(malformed(text, second.start, format!("{key:?} stands there twice"))),
            None => Ok(first.map(|item| &item.value)),
        }
    }

    pub(super) fn to_json(&self, text: &str) -> Value {
        match &self.kind {
            Kind::Object(items) => {
                let member = |item: &Item| (item.key.clone().unwrap_or_default(), item.value.to_json(text));
                Value::Object(items.iter().map(member).collect::<Map<_, _>>())
            }
            Kind::Array(items) => items.iter().map(|item| item.value.to_json(text)).collect(),
            Kind::Text(said) => Value::String(said.clone()),
            Kind::Other => serde_json::from_str(text.get(self.start..self.end).unwrap_or_default()).unwrap_or_default(),
        }
    }
}

/// A comment from its first byte to behind its last; the end of a line belongs to none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Comment {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_line: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, what: impl Into<String>) -> Malformed {
        malformed(self.text, self.at, what)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes white space and comments.
    fn skip(&mut self) -> Result<(), Malformed> {
        loop {
            self.at += white(self.rest());
            match comment(self.text, self.at) {
                Some(Ok(comment)) => self.at = comment.end,
                Some(Err(Unclosed)) => return Err(self.error("a comment is not closed")),
                None => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Malformed> {
        if depth > DEEPEST {
            return Err(self.error("it nests too deep"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.list(b'}', |reader| reader.member(depth + 1))?),
            Some(b'[') => Kind::Array(self.list(b']', |reader| reader.element(depth + 1))?),
            Some(b'"') => Kind::Text(self.string()?),
            Some(_) => self.word()?,
            None => return Err(self.error("a value is missing")),
        };
        Ok(Node { start, end: self.at, kind })
    }

    fn list(
        &mut self,
        close: u8,
        mut one: impl FnMut(&mut Self) -> Result<Item, Malformed>,
    ) -> Result<Vec<Item>, Malformed> {
        let open = self.at;
        self.at += 1;
        let mut items = Vec::new();
        let mut is_due = true;
        loop {
            self.skip()?;
            match self.peek() {
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(items);
                }
                None => return Err(malformed(self.text, open, "this bracket is not closed")),
                Some(_) if !is_due => return Err(self.error("a comma is missing")),
                Some(_) => items.push(one(self)?),
            }
            self.skip()?;
            is_due = self.peek() == Some(b',');
            if is_due {
                if let Some(last) = items.last_mut() {
                    last.comma = Some(self.at);
                }
                self.at += 1;
            }
        }
    }

    fn member(&mut self, depth: usize) -> Result<Item, Malformed> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.error("a key in double quotes is missing"));
        }
        let key = self.string()?;
        self.skip()?;
        if self.peek() != Some(b':') {
            return Err(self.error("a colon is missing"));
        }
        self.at += 1;
        self.skip()?;
        Ok(Item { start, key: Some(key), value: self.value(depth)?, comma: None })
    }

    fn element(&mut self, depth: usize) -> Result<Item, Malformed> {
        Ok(Item { start: self.at, key: None, value: self.value(depth)?, comma: None })
    }

    fn string(&mut self) -> Result<String, Malformed> {
        let mut is_escaped = false;
        let end = self.rest().bytes().enumerate().skip(1).find(|(_, byte)| {
            let ends = !is_escaped && *byte == b'"' || *byte == b'\n';
            is_escaped = !is_escaped && *byte == b'\\';
            ends
        });
        let closed = end.filter(|(_, byte)| *byte == b'"').map(|(end, _)| end + 1);
        let Some(length) = closed else { return Err(self.error("a string is not closed")) };
        let written = self.rest().get(..length).unwrap_or_default();
        let said = serde_json::from_str(written).map_err(|error| self.error(plain(&error)))?;
        self.at += length;
        Ok(said)
    }

    /// Reads a number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Kind, Malformed> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
        let rest = self.rest();
        let word = rest.get(..rest.find(|c| !is_part(c)).unwrap_or(rest.len())).unwrap_or_default();
        let length = word.len();
        match serde_json::from_str::<Value>(word) {
            Ok(_) => {
                self.at += length;
                Ok(Kind::Other)
            }
            Err(_) => Err(self.error("this is no value")),
        }
    }
}

/// Its own place counts from the begin of the string, which helps nobody.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Returns how many bytes of white space a text begins with.
pub(super) fn white(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

struct Unclosed;

/// Returns the comment that begins here.
fn comment(text: &str, at: usize) -> Option<Result<Comment, Unclosed>> {
    let rest = text.get(at..)?;
    if rest.starts_with("//") {
        let line = rest.split('\n').next().unwrap_or(rest).trim_end_matches('\r');
        return Some(Ok(Comment { start: at, end: at + line.len(), is_line: true }));
    }
    let inside = rest.strip_prefix("/*")?;
    Some(match inside.find("*/") {
        Some(length) => Ok(Comment { start: at, end: at + length + 4, is_line: false }),
        None => Err(Unclosed),
    })
}

/// Returns the comments between two places that hold nothing else but white space, and commas.
pub(super) fn comments(text: &str, from: usize, to: usize) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut at = from;
    while at < to {
        match comment(text, at) {
            Some(Ok(comment)) => {
                found.push(comment);
                at = comment.end;
            }
            Some(Err(Unclosed)) | None => at += 1,
        }
    }
    found
}
