//! What is concluded when a judge cannot judge.
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeErrorPolicy {
    /// It could not be evaluated.
    #[default]
    Reject,
    /// The claim alone counts, and the evidence says that nothing was verified.
    StringMatch,
}
