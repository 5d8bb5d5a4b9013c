//! The verdict when a judge fails.
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeErrorPolicy {
    /// The criterion could not be evaluated.
    #[default]
    Reject,
    /// The claim alone is accepted, and the evidence records that nothing was verified.
    StringMatch,
}
