//! YAML as a tree of texts with positions. What a text means is the business of the key that holds it, so
//! `no`, `010` and `1e400` are never anything but what is written. Size, depth and aliases are limited.
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, MessageFormatter, Options, Spanned, UserMessageFormatter};

/// How much a document may be.
#[derive(Debug, Clone, Copy)]
pub struct DocumentLimits {
    pub depth: usize,
    pub nodes: usize,
    pub aliases: usize,
}

/// How much aliases may stand for, however large the document may be.
const MAX_REPLAYED_EVENTS: usize = 100_000;

/// What is usual for a file that people write by hand.
pub const DEFAULT_LIMITS: DocumentLimits = DocumentLimits { depth: 16, nodes: 20_000, aliases: 100 };

/// A value with its place.
#[derive(Debug, Clone)]
pub struct DocumentNode {
    pub line: u64,
    pub column: u64,
    pub style: ScalarStyle,
    pub content: NodeContent,
}

/// How a text is written, where that tells what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarStyle {
    /// As people write texts, in whatever way.
    Plain,
    /// As a word that YAML could read as a number or a truth value.
    Bare,
    /// In JSON, where a text stands in quotation marks …
    Quoted,
    /// … and nothing else does.
    Literal,
}

impl ScalarStyle {
    /// Tells whether it could be a number or a truth value.
    #[must_use]
    pub fn is_bare(self) -> bool {
        match self {
            Self::Bare | Self::Literal => true,
            Self::Plain | Self::Quoted => false,
        }
    }
}

impl DocumentNode {
    /// Returns what stands at a path of names and numbers, or else what is nearest above it.
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
    /// `null`, `~` or nothing at all.
    Null,
    /// As it is written, without quotation marks.
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

/// What is no YAML, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentError {
    pub line: u64,
    pub column: u64,
    pub message: String,
}

/// Reads one document of the usual size.
pub fn parse(text: &str) -> Result<DocumentNode, DocumentError> {
    parse_with_limits(text, &DEFAULT_LIMITS)
}

/// Reads one document.
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
            // The second one is refused for what it is.
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
    let place = error.location().unwrap_or(Location::UNKNOWN);
    let what = match root_cause(error) {
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("the key {key:?} stands here twice"),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. } => {
            format!("it is too much: at most {depth} levels, {nodes} values and {aliases} aliases are read")
        }
        Error::MultipleDocuments { .. } => "a second document begins, and only one is read".to_owned(),
        other => UserMessageFormatter.format_message(other).into_owned(),
    };
    DocumentError { line: place.line().max(1), column: place.column().max(1), message: what }
}

/// Returns what went wrong, without the ways on which it was reached.
fn root_cause(error: &Error) -> &Error {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => root_cause(error),
        other => other,
    }
}

fn build_node(spanned: Spanned<YamlValue>, text: &str) -> DocumentNode {
    let (line, column) = (spanned.referenced.line(), spanned.referenced.column());
    let written_as = if matches!(spanned.value, YamlValue::BareWord) { ScalarStyle::Bare } else { ScalarStyle::Plain };
    let content = match spanned.value {
        YamlValue::Null => NodeContent::Null,
        YamlValue::BareWord => NodeContent::Text(source_text(spanned.defined, text).to_owned()),
        YamlValue::Text(text) => NodeContent::Text(text),
        YamlValue::List(items) => NodeContent::List(items.into_iter().map(|item| build_node(item, text)).collect()),
        YamlValue::Map(entries) => {
            NodeContent::Map(entries.into_iter().map(|(key, value)| build_entry(key, value, text)).collect())
        }
    };
    DocumentNode { line, column, style: written_as, content }
}

fn build_entry(key: Spanned<String>, value: Spanned<YamlValue>, text: &str) -> MapEntry {
    let (line, column) = (key.referenced.line(), key.referenced.column());
    MapEntry { key: key.value, line, column, node: build_node(value, text) }
}

/// Returns a scalar as the user wrote it.
fn source_text(place: Location, text: &str) -> &str {
    let span = place.span();
    let from = usize::try_from(span.byte_offset().unwrap_or(0)).unwrap_or(usize::MAX);
    let length = usize::try_from(span.byte_len().unwrap_or(0)).unwrap_or(usize::MAX);
    text.get(from..from.saturating_add(length)).unwrap_or_default().trim_matches(['"', '\''])
}

enum YamlValue {
    Null,
    /// A bare word that YAML would read as a number or a truth value.
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
