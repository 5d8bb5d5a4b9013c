//! `when`: comparisons of outputs, joined by `&&` and `||`.
mod evaluate;
mod parser;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use evaluate::ConditionError;
pub use parser::ConditionSyntaxError;

pub use super::references::ValueReference;

/// Alternatives of conjunctions: `&&` binds tighter than `||`. Neither list is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    pub any_of: Vec<Vec<Comparison>>,
    /// The text of the file, for messages.
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    pub left: ValueReference,
    pub operator: ComparisonOperator,
    /// The literal as text; numbers and booleans as they are written.
    pub literal: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl ComparisonOperator {
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl Condition {
    /// The values that the condition compares, in the order of the text.
    pub fn references(&self) -> impl Iterator<Item = &ValueReference> {
        self.any_of.iter().flatten().map(|comparison| &comparison.left)
    }
}
