//! Settings parsed by jsonc-parser: a syntax tree, and the position of every comma and comment.
//!
//! The edits are made by hand at these positions. The tree editor of jsonc-parser (feature `cst`) does not fit: it
//! deletes comments and blank lines beside an edit and breaks objects on one line over several lines, but the user's
//! text must keep every byte.
use std::ops::Range;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

/// JSON with comments and trailing commas, and no other extension.
const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Why and where settings are malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct MalformedSettings {
    pub line: usize,
    pub column: usize,
    pub what: String,
}

pub(super) struct SettingsDocument<'a> {
    pub(super) text: &'a str,
    /// `None` if the text has no value.
    pub(super) root: Option<Value<'a>>,
    tokens: Vec<TokenAndRange<'a>>,
}

/// A member of an object, or an element of an array, which has no key.
pub(super) struct DocumentItem<'a> {
    /// Where its key begins, or its value.
    pub(super) start: usize,
    pub(super) key: Option<&'a str>,
    pub(super) value: &'a Value<'a>,
}

/// jsonc-parser does not accept a byte order mark.
pub(super) fn skip_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

impl<'a> SettingsDocument<'a> {
    /// Parses a text without a byte order mark.
    pub(super) fn parse(text: &'a str) -> Result<Self, MalformedSettings> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &SYNTAX).map_err(|error| {
            let mut what = error.kind().to_string();
            what.get_mut(..1).unwrap_or_default().make_ascii_lowercase();
            malformed_at(text, error.range().start, what)
        })?;
        let document = Self { text, root: parsed.value, tokens: parsed.tokens.unwrap_or_default() };
        // jsonc-parser accepts control characters in strings, the hosts do not.
        let is_control = |token: &&TokenAndRange<'_>| {
            matches!(token.token, Token::String(_)) && token.text(text).contains(|c: char| c < ' ')
        };
        match document.tokens.iter().find(is_control) {
            Some(token) => Err(malformed_at(text, token.start(), "control character in string")),
            None => Ok(document),
        }
    }

    pub(super) fn error(&self, at: usize, what: impl Into<String>) -> MalformedSettings {
        malformed_at(self.text, at, what)
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    /// Returns the value of a key. A key that is there twice is an error, because hosts differ in which one they use.
    pub(super) fn member<'b>(
        &self,
        object: &'b Value<'_>,
        key: &str,
    ) -> Result<Option<&'b Value<'b>>, MalformedSettings> {
        let mut found = items(object).into_iter().filter(|item| item.key == Some(key));
        let first = found.next();
        match found.next() {
            Some(second) => Err(self.error(second.start, format!("{key:?} is there twice"))),
            None => Ok(first.map(|item| item.value)),
        }
    }

    /// Returns the position of the comma after an item.
    pub(super) fn comma_after(&self, item: &DocumentItem<'_>) -> Option<usize> {
        let next = self.tokens.iter().find(|token| token.start() >= item.value.end() && !is_comment(token))?;
        (next.token == Token::Comma).then_some(next.start())
    }

    /// Returns the comments that begin in a part of the text.
    pub(super) fn comments_in(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &TokenAndRange<'a>> {
        self.tokens.iter().filter(move |token| is_comment(token) && range.contains(&token.start()))
    }

    /// Returns whether text that is appended would be part of a comment.
    pub(super) fn ends_in_line_comment(&self) -> bool {
        let last = self.tokens.last().filter(|last| is_line_comment(last));
        last.is_some_and(|last| !self.slice(last.end()..self.text.len()).contains('\n'))
    }
}

/// Returns the members of an object or the elements of an array.
pub(super) fn items<'a>(value: &'a Value<'_>) -> Vec<DocumentItem<'a>> {
    match value {
        Value::Object(object) => {
            let members = object.properties.iter();
            members
                .map(|it| DocumentItem { start: it.start(), key: Some(it.name.as_str()), value: &it.value })
                .collect()
        }
        Value::Array(array) => {
            array.elements.iter().map(|value| DocumentItem { start: value.start(), key: None, value }).collect()
        }
        Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => Vec::new(),
    }
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

pub(super) fn is_line_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_))
}

fn malformed_at(text: &str, at: usize, what: impl Into<String>) -> MalformedSettings {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    MalformedSettings { line, column, what: what.into() }
}
