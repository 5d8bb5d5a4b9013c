//! `when`: comparisons of outputs, joined by `&&` and `||`.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::node::NodeId;

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueReference {
    /// `$ID.output` or `$ID.output.field`.
    Output { node: NodeId, field: Option<String> },
    /// `$INPUTS.name`.
    Input { name: String },
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
