//! Parses a condition. Parentheses are allowed; they are resolved into alternatives.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Comparison, ComparisonOperator, Condition, ValueReference};
use crate::workflow::node::NodeId;
use crate::workflow::references::{identifier_len, node_id_len, parse_value_reference};

/// Most comparisons of a condition after its parentheses are resolved.
const MAX_COMPARISONS: usize = 512;
const MAX_DEPTH: usize = 16;

/// Why a text is not a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionSyntaxError {
    /// The byte in the text.
    pub offset: usize,
    pub message: String,
}

type Alternatives = Vec<Vec<Comparison>>;

impl Condition {
    /// Parses a condition.
    pub fn parse(text: &str) -> Result<Self, ConditionSyntaxError> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let any_of = parser.parse_alternatives()?;
        parser.skip_blanks();
        if !parser.rest().is_empty() {
            return Err(parser.unexpected("`&&`, `||` or the end"));
        }
        Ok(Self { any_of, source: text.to_owned() })
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let is_next = self.rest().starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    fn error(&self, offset: usize, message: &str) -> ConditionSyntaxError {
        ConditionSyntaxError { offset: offset.min(self.text.len()), message: message.to_owned() }
    }

    fn unexpected(&self, wanted: &str) -> ConditionSyntaxError {
        let rest = self.rest();
        let token = rest.split_whitespace().next().map(|token| token.chars().take(30).collect::<String>());
        let message = match token {
            Some(token) => format!("expected {wanted}, found `{token}`"),
            None => format!("expected {wanted}, found the end"),
        };
        ConditionSyntaxError { offset: self.at, message }
    }

    fn parse_alternatives(&mut self) -> Result<Alternatives, ConditionSyntaxError> {
        let mut alternatives = self.parse_conjunction()?;
        while self.take("||") {
            alternatives.append(&mut self.parse_conjunction()?);
            self.check_size(&alternatives)?;
        }
        Ok(alternatives)
    }

    fn parse_conjunction(&mut self) -> Result<Alternatives, ConditionSyntaxError> {
        let mut conjunction = self.parse_operand()?;
        while self.take("&&") {
            let right = self.parse_operand()?;
            conjunction = self.combine(&conjunction, &right)?;
        }
        Ok(conjunction)
    }

    /// `(a || b) && c` is `a && c || b && c`.
    fn combine(&self, left: &Alternatives, right: &Alternatives) -> Result<Alternatives, ConditionSyntaxError> {
        let mut combined = Alternatives::new();
        for first in left {
            for second in right {
                combined.push(first.iter().chain(second).cloned().collect());
            }
            self.check_size(&combined)?;
        }
        Ok(combined)
    }

    fn check_size(&self, alternatives: &Alternatives) -> Result<(), ConditionSyntaxError> {
        let comparisons: usize = alternatives.iter().map(Vec::len).sum();
        if comparisons > MAX_COMPARISONS {
            return Err(self.error(self.at, "the condition is too long; split it over several nodes"));
        }
        Ok(())
    }

    fn parse_operand(&mut self) -> Result<Alternatives, ConditionSyntaxError> {
        self.skip_blanks();
        let start = self.at;
        if !self.take("(") {
            let comparison = self.parse_comparison()?;
            return Ok(Vec::from([Vec::from([comparison])]));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(start, "the parentheses are nested too deeply"));
        }
        let inner = self.parse_alternatives()?;
        if !self.take(")") {
            self.skip_blanks();
            return Err(self.unexpected("`)`"));
        }
        self.depth -= 1;
        Ok(inner)
    }

    fn parse_comparison(&mut self) -> Result<Comparison, ConditionSyntaxError> {
        let left = self.parse_left()?;
        let operator = self.parse_operator()?;
        let is_ordering = !matches!(operator, ComparisonOperator::Equal | ComparisonOperator::NotEqual);
        self.skip_blanks();
        let start = self.at;
        let literal = self.parse_literal()?;
        if is_ordering && super::evaluate::parse_number(&literal).is_none() {
            let message = format!("`{}` compares numbers, and `{literal}` is not a number", operator.symbol());
            return Err(ConditionSyntaxError { offset: start, message });
        }
        Ok(Comparison { left, operator, literal })
    }

    fn parse_left(&mut self) -> Result<ValueReference, ConditionSyntaxError> {
        self.skip_blanks();
        let Some(after) = self.rest().strip_prefix('$') else {
            return Err(self.unexpected("a reference such as `$id.output.field`"));
        };
        let start = self.at;
        let parsed = parse_value_reference(after).or_else(|| parse_short_form(after));
        let Some((reference, length)) = parsed else {
            return Err(self.unexpected("a reference such as `$id.output.field`"));
        };
        self.at += 1 + length;
        if self.rest().starts_with('.') {
            return Err(self.error(start, "a reference names one field: `$id.output.field`"));
        }
        Ok(reference)
    }

    fn parse_operator(&mut self) -> Result<ComparisonOperator, ConditionSyntaxError> {
        self.skip_blanks();
        let operators = [
            ComparisonOperator::Equal,
            ComparisonOperator::NotEqual,
            ComparisonOperator::LessOrEqual,
            ComparisonOperator::GreaterOrEqual,
            ComparisonOperator::Less,
            ComparisonOperator::Greater,
        ];
        let found = operators.into_iter().find(|operator| self.rest().starts_with(operator.symbol()));
        let Some(operator) = found else {
            return Err(self.unexpected("`==`, `!=`, `<`, `>`, `<=` or `>=`"));
        };
        self.at += operator.symbol().len();
        Ok(operator)
    }

    fn parse_literal(&mut self) -> Result<String, ConditionSyntaxError> {
        if let Some(inside) = self.rest().strip_prefix('\'') {
            let Some((literal, _)) = inside.split_once('\'') else {
                return Err(self.error(self.at, "the closing `'` is missing"));
            };
            self.at += literal.len() + 2;
            return Ok(literal.to_owned());
        }
        if self.rest().starts_with('"') {
            return Err(self.error(self.at, "texts have single quotes: `'value'`"));
        }
        let end = self.rest().find(|letter: char| letter.is_whitespace() || "&|()'\"".contains(letter));
        let word = self.rest().get(..end.unwrap_or(self.rest().len())).unwrap_or_default();
        if !is_bare_literal(word) {
            return Err(self.unexpected("a literal: `'text'`, a number, `true` or `false`"));
        }
        self.at += word.len();
        Ok(word.to_owned())
    }
}

/// `$ID.field`, the short form of `$ID.output.field`.
fn parse_short_form(after: &str) -> Option<(ValueReference, usize)> {
    let id_length = node_id_len(after);
    let id = after.get(..id_length).filter(|id| !id.is_empty())?;
    let rest = after.get(id_length..)?.strip_prefix('.')?;
    let field = rest.get(..identifier_len(rest)).filter(|field| !field.is_empty())?;
    let reference = ValueReference::Output { node: NodeId(id.to_owned()), field: Some(field.to_owned()) };
    Some((reference, id_length + 1 + field.len()))
}

/// `true`, `false`, `-12` or `0.5`.
fn is_bare_literal(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    matches!(word, "true" | "false") || is_digits(whole) && fraction.is_none_or(is_digits)
}
