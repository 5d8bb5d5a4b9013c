//! Parses JSON into the same tree as YAML. `RawValue` slices the source text, which gives each node its position.
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use ralph_util::yaml::{DocumentError, DocumentNode, MapEntry, NodeContent, ScalarStyle};

/// Maximum nesting depth. A deeper document is a mistake.
const MAX_DEPTH: usize = 32;

/// Parses one JSON document.
pub(super) fn parse_json(text: &str) -> Result<DocumentNode, DocumentError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root: &RawValue = serde_json::from_str(text).map_err(|error| to_document_error(&error))?;
    let lines = LineIndex::new(text);
    lines.build_node(root.get(), MAX_DEPTH)
}

fn to_document_error(error: &serde_json::Error) -> DocumentError {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default().to_owned();
    DocumentError { line: error.line().max(1) as u64, column: error.column().max(1) as u64, message }
}

/// A text with the byte offsets of its lines.
struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    fn new(text: &'a str) -> Self {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after).collect() }
    }

    /// Returns line and column of a slice of the text, counted from 1.
    fn position_of(&self, part: &str) -> (u64, u64) {
        let at = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text.get(start..at).map_or(0, |before| before.chars().count());
        (line as u64, column as u64 + 1)
    }

    fn build_node(&self, part: &'a str, depth: usize) -> Result<DocumentNode, DocumentError> {
        let (line, column) = self.position_of(part);
        let refused = |message: &str| DocumentError { line, column, message: message.to_owned() };
        let below = depth.checked_sub(1).ok_or_else(|| refused("nested too deeply: at most 32 levels are allowed"))?;
        let invalid = |error: serde_json::Error| refused(&error.to_string());
        let content = match part.as_bytes().first() {
            Some(b'{') => self.build_map(part, below, &refused)?,
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(part).map_err(invalid)?;
                NodeContent::List(
                    items.iter().map(|item| self.build_node(item.get(), below)).collect::<Result<_, _>>()?,
                )
            }
            Some(b'"') => NodeContent::Text(serde_json::from_str(part).map_err(invalid)?),
            _ if part == "null" => NodeContent::Null,
            _ => NodeContent::Text(part.to_owned()),
        };
        let style = if part.starts_with('"') { ScalarStyle::Quoted } else { ScalarStyle::Literal };
        Ok(DocumentNode { line, column, style, content })
    }

    fn build_map(
        &self,
        part: &'a str,
        depth: usize,
        refused: &dyn Fn(&str) -> DocumentError,
    ) -> Result<NodeContent, DocumentError> {
        let mut deserializer = serde_json::Deserializer::from_str(part);
        let pairs = deserializer.deserialize_map(PairsVisitor).map_err(|error| refused(&error.to_string()))?;
        let mut seen = BTreeSet::new();
        let entries = pairs.into_iter().map(|(key, value)| {
            let node = self.build_node(value.get(), depth)?;
            if !seen.insert(key.clone()) {
                let message = format!("duplicate key {key:?}");
                return Err(DocumentError { line: node.line, column: node.column, message });
            }
            Ok(MapEntry { key, line: node.line, column: node.column, node })
        });
        entries.collect::<Result<_, _>>().map(NodeContent::Map)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
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
    fn every_node_has_its_line_and_column() {
        let root = parse_json("{\n\t\"a\": [1, \"\\ud83d\\ude00\"],\n  \"ä\": {\"b\": null}\n}").unwrap();
        let NodeContent::Map(entries) = &root.content else { panic!() };
        let NodeContent::List(items) = &entries[0].node.content else { panic!() };
        assert_eq!((items[1].line, items[1].column), (2, 11));
        assert!(matches!(&items[1].content, NodeContent::Text(text) if text == "😀"));
        assert_eq!((items[0].style, items[1].style), (ScalarStyle::Literal, ScalarStyle::Quoted));
        assert_eq!((entries[1].node.line, entries[1].node.column), (3, 8));
    }

    #[test] // spec: T4, X4
    fn invalid_json_is_refused_with_its_place() {
        let refused = |text: &str| parse_json(text).unwrap_err();
        assert_eq!(refused("{\n \"a\": ]").line, 2);
        assert_eq!(refused("{\"a\": 1,\n \"a\": 2}").message, "duplicate key \"a\"");
        let deep = "[".repeat(100) + &"]".repeat(100);
        assert!(refused(&deep).message.contains("too deeply"));
        assert!(!refused(&"[".repeat(100_000)).message.is_empty());
    }
}
