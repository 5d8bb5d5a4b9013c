//! Parses YAML into a tree of texts with positions. Scalars are not converted: `no`, `010` and `1e400` stay as written,
//! and the key that holds them decides what they mean. Size, depth and aliases are limited.
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, MessageFormatter, Options, Spanned, UserMessageFormatter};

/// The limits for one document.
#[derive(Debug, Clone, Copy)]
pub struct DocumentLimits {
    pub depth: usize,
    pub nodes: usize,
    pub aliases: usize,
}

/// The limit for the expansion of aliases, whatever the document limits are.
const MAX_REPLAYED_EVENTS: usize = 100_000;

/// The limits for a file that people write by hand.
pub const DEFAULT_LIMITS: DocumentLimits = DocumentLimits { depth: 16, nodes: 20_000, aliases: 100 };

/// A value with its position.
#[derive(Debug, Clone)]
pub struct DocumentNode {
    pub line: u64,
    pub column: u64,
    pub style: ScalarStyle,
    pub content: NodeContent,
}

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarStyle {
    /// YAML: a string in any style.
    Plain,
    /// YAML: an unquoted word that could be a number or a boolean.
    Bare,
    /// JSON: a string.
    Quoted,
    /// JSON: a number or a boolean.
    Literal,
}

impl ScalarStyle {
    /// Returns whether the scalar could be a number or a boolean.
    #[must_use]
    pub fn is_bare(self) -> bool {
        match self {
            Self::Bare | Self::Literal => true,
            Self::Plain | Self::Quoted => false,
        }
    }
}

impl DocumentNode {
    /// Returns the node at a path of keys and indexes such as `a.0.b`, or its nearest existing ancestor.
    #[must_use]
    pub fn nearest_node(&self, path: &str) -> &Self {
        let mut here = self;
        for step in path.split('.') {
            let next = match &here.content {
                NodeContent::Map(entries) => entries.iter().find(|entry| entry.key == step).map(|entry| &entry.node),
                NodeContent::List(items) => step.parse().ok().and_then(|at: usize| items.get(at)),
                NodeContent::Null | NodeContent::Text(_) => None,
            };
            match next {
                Some(next) => here = next,
                None => break,
            }
        }
        here
    }
}

#[derive(Debug, Clone)]
pub enum NodeContent {
    /// `null`, `~` or empty.
    Null,
    /// As written, without quotation marks.
    Text(String),
    List(Vec<DocumentNode>),
    Map(Vec<MapEntry>),
}

#[derive(Debug, Clone)]
pub struct MapEntry {
    pub key: String,
    pub line: u64,
    pub column: u64,
    pub node: DocumentNode,
}

/// A syntax error or an exceeded limit, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentError {
    pub line: u64,
    pub column: u64,
    pub message: String,
}

/// Parses one document with the default limits.
pub fn parse(text: &str) -> Result<DocumentNode, DocumentError> {
    parse_with_limits(text, &DEFAULT_LIMITS)
}

/// Parses one document.
pub fn parse_with_limits(text: &str, limits: &DocumentLimits) -> Result<DocumentNode, DocumentError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = serde_saphyr::from_str_with_options::<Spanned<YamlValue>>(text, parse_options(limits));
    root.map(|root| build_node(root, text)).map_err(|error| to_document_error(&error, limits))
}

fn parse_options(limits: &DocumentLimits) -> Options {
    let DocumentLimits { depth, nodes, aliases } = *limits;
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: depth,
            flow_nesting_limit: depth,
            max_events: nodes.saturating_mul(4),
            max_nodes: nodes,
            max_aliases: aliases,
            max_anchors: aliases,
            max_merge_keys: aliases,
            max_recorded_anchor_events: nodes,
            // Allows the second document to start, so that the error names it.
            max_documents: 2,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: nodes.min(MAX_REPLAYED_EVENTS),
            max_replay_stack_depth: depth,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        strict_booleans: true,
        reject_unsupported_tags: true,
        ignore_binary_tag_for_string: true,
        with_snippet: false,
    }
}

fn to_document_error(error: &Error, limits: &DocumentLimits) -> DocumentError {
    let DocumentLimits { depth, nodes, aliases } = limits;
    let location = error.location().unwrap_or(Location::UNKNOWN);
    let message = match root_cause(error) {
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("duplicate key {key:?}"),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. } => {
            format!("too large: at most {depth} levels, {nodes} values and {aliases} aliases are allowed")
        }
        Error::MultipleDocuments { .. } => "a second document starts here, but only one is allowed".to_owned(),
        other => UserMessageFormatter.format_message(other).into_owned(),
    };
    DocumentError { line: location.line().max(1), column: location.column().max(1), message }
}

/// Returns the innermost error, without its wrappers.
fn root_cause(error: &Error) -> &Error {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => root_cause(error),
        other => other,
    }
}

fn build_node(spanned: Spanned<YamlValue>, text: &str) -> DocumentNode {
    let (line, column) = (spanned.referenced.line(), spanned.referenced.column());
    let style = if matches!(spanned.value, YamlValue::BareWord) { ScalarStyle::Bare } else { ScalarStyle::Plain };
    let content = match spanned.value {
        YamlValue::Null => NodeContent::Null,
        YamlValue::BareWord => NodeContent::Text(source_text(spanned.defined, text).to_owned()),
        YamlValue::Text(text) => NodeContent::Text(text),
        YamlValue::List(items) => NodeContent::List(items.into_iter().map(|item| build_node(item, text)).collect()),
        YamlValue::Map(entries) => {
            NodeContent::Map(entries.into_iter().map(|(key, value)| build_entry(key, value, text)).collect())
        }
    };
    DocumentNode { line, column, style, content }
}

fn build_entry(key: Spanned<String>, value: Spanned<YamlValue>, text: &str) -> MapEntry {
    let (line, column) = (key.referenced.line(), key.referenced.column());
    MapEntry { key: key.value, line, column, node: build_node(value, text) }
}

/// Returns a scalar as the user wrote it.
fn source_text(location: Location, text: &str) -> &str {
    let span = location.span();
    let from = usize::try_from(span.byte_offset().unwrap_or(0)).unwrap_or(usize::MAX);
    let length = usize::try_from(span.byte_len().unwrap_or(0)).unwrap_or(usize::MAX);
    text.get(from..from.saturating_add(length)).unwrap_or_default().trim_matches(['"', '\''])
}

enum YamlValue {
    Null,
    /// An unquoted word that YAML would read as a number or a boolean.
    BareWord,
    Text(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlValueVisitor)
    }
}

struct YamlValueVisitor;

impl<'de> Visitor<'de> for YamlValueVisitor {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::BareWord)
    }

    fn visit_i64<E>(self, _: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::BareWord)
    }

    fn visit_i128<E>(self, _: i128) -> Result<YamlValue, E> {
        Ok(YamlValue::BareWord)
    }

    fn visit_u64<E>(self, _: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::BareWord)
    }

    fn visit_u128<E>(self, _: u128) -> Result<YamlValue, E> {
        Ok(YamlValue::BareWord)
    }

    fn visit_f64<E>(self, _: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::BareWord)
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(YamlValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlValue, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(YamlValue::Map(map))
    }
}

#[cfg(test)]
mod tests;
