//! JSON as a tree of texts with positions, like YAML. Every part of a JSON text is a slice of it, so its place is known.
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use ralph_util::yaml::{Content, Entry, Malformed, Node, Written};

/// Deeper ones are mistakes.
const DEPTH: usize = 32;

/// Reads one JSON document.
pub(super) fn parse(text: &str) -> Result<Node, Malformed> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root: &RawValue = serde_json::from_str(text).map_err(|error| malformed(&error))?;
    let lines = Lines::of(text);
    lines.node(root.get(), DEPTH)
}

fn malformed(error: &serde_json::Error) -> Malformed {
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default().to_owned();
    Malformed { line: error.line().max(1) as u64, column: error.column().max(1) as u64, what }
}

/// A text, and where its lines begin.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after).collect() }
    }

    /// Returns line and column of a part of the text.
    fn place(&self, part: &str) -> (u64, u64) {
        let at = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text.get(start..at).map_or(0, |before| before.chars().count());
        (line as u64, column as u64 + 1)
    }

    fn node(&self, part: &'a str, depth: usize) -> Result<Node, Malformed> {
        let (line, column) = self.place(part);
        let refused = |what: &str| Malformed { line, column, what: what.to_owned() };
        let below =
            depth.checked_sub(1).ok_or_else(|| refused("it is too deep: at most 32 levels are read"))?;
        let own = |error: serde_json::Error| refused(&error.to_string());
        let content = match part.as_bytes().first() {
            Some(b'{') => self.map(part, below, &refused)?,
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(part).map_err(own)?;
                Content::List(
                    items.iter().map(|item| self.node(item.get(), below)).collect::<Result<_, _>>()?,
                )
            }
            Some(b'"') => Content::Text(serde_json::from_str(part).map_err(own)?),
            _ if part == "null" => Content::Nothing,
            _ => Content::Text(part.to_owned()),
        };
        let written = if part.starts_with('"') { Written::Quoted } else { Written::Literal };
        Ok(Node { line, column, written, content })
    }

    fn map(
        &self,
        part: &'a str,
        depth: usize,
        refused: &dyn Fn(&str) -> Malformed,
    ) -> Result<Content, Malformed> {
        let mut deserializer = serde_json::Deserializer::from_str(part);
        let pairs = deserializer.deserialize_map(Pairs).map_err(|error| refused(&error.to_string()))?;
        let mut seen = BTreeSet::new();
        let entries = pairs.into_iter().map(|(key, value)| {
            let node = self.node(value.get(), depth)?;
            if !seen.insert(key.clone()) {
                let what = format!("the key {key:?} stands here twice");
                return Err(Malformed { line: node.line, column: node.column, what });
            }
            Ok(Entry { key, line: node.line, column: node.column, node })
        });
        entries.collect::<Result<_, _>>().map(Content::Map)
    }
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = entries.next_entry()? {
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: T4
    fn every_part_knows_its_line_and_column() {
        let root = parse("{\n\t\"a\": [1, \"\\ud83d\\ude00\"],\n  \"ä\": {\"b\": null}\n}").unwrap();
        let Content::Map(entries) = &root.content else { panic!() };
        let Content::List(items) = &entries[0].node.content else { panic!() };
        assert_eq!((items[1].line, items[1].column), (2, 11));
        assert!(matches!(&items[1].content, Content::Text(text) if text == "😀"));
        assert_eq!((items[0].written, items[1].written), (Written::Literal, Written::Quoted));
        assert_eq!((entries[1].node.line, entries[1].node.column), (3, 8));
    }

    #[test] // spec: T4, X4
    fn what_is_no_json_is_refused_with_its_place() {
        let refused = |text: &str| parse(text).unwrap_err();
        assert_eq!(refused("{\n \"a\": ]").line, 2);
        assert_eq!(refused("{\"a\": 1,\n \"a\": 2}").what, "the key \"a\" stands here twice");
        let deep = "[".repeat(100) + &"]".repeat(100);
        assert!(refused(&deep).what.contains("too deep"));
        assert!(!refused(&"[".repeat(100_000)).what.is_empty());
    }
}
