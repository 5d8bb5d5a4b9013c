//! Evaluates a condition. A value that cannot be compared is an error, never a skipped node.
use alloc::borrow::Cow;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::cmp::Ordering;

use super::{Comparison, ComparisonOperator, Condition, ValueReference};
use crate::text::text_head;
use crate::workflow::values::ValueError;

/// How much of a value an error quotes.
const QUOTED_BYTES: usize = 60;

/// Why a condition has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    #[error("{0}")]
    Value(#[from] ValueError),
    #[error("`{operator}` compares numbers, and {reference} is `{value}`")]
    NotANumber { reference: String, operator: &'static str, value: String },
    #[error("{reference} is a list or an object, which cannot be compared with a text")]
    NotAScalar { reference: String },
}

impl Condition {
    /// Evaluates the condition from left to right, as far as the result depends on it.
    pub fn evaluate<'v>(
        &self,
        value_of: impl Fn(&ValueReference) -> Result<Cow<'v, str>, ValueError>,
    ) -> Result<bool, ConditionError> {
        for conjunction in &self.any_of {
            if all_hold(conjunction, &value_of)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn all_hold<'v>(
    conjunction: &[Comparison],
    value_of: &impl Fn(&ValueReference) -> Result<Cow<'v, str>, ValueError>,
) -> Result<bool, ConditionError> {
    for comparison in conjunction {
        let value = value_of(&comparison.left)?;
        if !holds(comparison, &value)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn holds(comparison: &Comparison, value: &str) -> Result<bool, ConditionError> {
    let is_field = comparison.left.field().is_some();
    if is_field && is_json_container(value) {
        return Err(ConditionError::NotAScalar { reference: comparison.left.to_string() });
    }
    let is_equal = || match is_field {
        true => value == comparison.literal,
        false => value.trim() == comparison.literal.trim(),
    };
    match comparison.operator {
        ComparisonOperator::Equal => Ok(is_equal()),
        ComparisonOperator::NotEqual => Ok(!is_equal()),
        ComparisonOperator::Less => compare_numbers(comparison, value).map(Ordering::is_lt),
        ComparisonOperator::LessOrEqual => compare_numbers(comparison, value).map(Ordering::is_le),
        ComparisonOperator::Greater => compare_numbers(comparison, value).map(Ordering::is_gt),
        ComparisonOperator::GreaterOrEqual => compare_numbers(comparison, value).map(Ordering::is_ge),
    }
}

/// Whether the text form of a field is that of a list or an object.
fn is_json_container(value: &str) -> bool {
    value.starts_with(['[', '{'])
        && serde_json::from_str::<serde_json::Value>(value).is_ok_and(|value| value.is_array() || value.is_object())
}

fn compare_numbers(comparison: &Comparison, value: &str) -> Result<Ordering, ConditionError> {
    let not_a_number = |value: &str| ConditionError::NotANumber {
        reference: comparison.left.to_string(),
        operator: comparison.operator.symbol(),
        value: text_head(value.trim(), QUOTED_BYTES).to_owned(),
    };
    let left = parse_number(value).ok_or_else(|| not_a_number(value))?;
    let right = parse_number(&comparison.literal).ok_or_else(|| not_a_number(&comparison.literal))?;
    left.partial_cmp(&right).ok_or_else(|| not_a_number(value))
}

/// Parses a finite decimal number. Blanks around it are ignored.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if !is_decimal {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}
