//! What counts as a claim in one run: the promised text and how strictly it is read.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Promise, PromiseNonce};

/// How the text of a tag is compared with the promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromiseMatching {
    /// Letter case is ignored.
    Loose,
    /// Letter case counts, and the tag stands alone on its line.
    Exact,
}

/// Which of the agent's messages may hold the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimScope {
    /// Only the last message.
    Final,
    /// Every message since the last prompt.
    Iteration,
}

/// Whether the promised text counts without its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainLinePolicy {
    /// Only the tag counts.
    Refused,
    /// A line that is exactly the text counts too.
    Accepted,
}

/// Whether the final message is searched for statements of open work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContradictionSearch {
    /// The message is not searched.
    Off,
    /// The message is searched, also for the phrases of the user in `extra`.
    On {
        /// Phrases that the user adds to the built-in list.
        extra: Vec<String>,
    },
}

/// The rules by which one run reads claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRules {
    /// The text that must be promised.
    pub promise: Promise,
    /// How strictly it is compared.
    pub matching: PromiseMatching,
    /// Which messages count.
    pub scope: ClaimScope,
    /// The id that the tag must carry, when one was asked for.
    pub nonce: Option<PromiseNonce>,
    /// Whether the bare text on a line counts.
    pub plain: PlainLinePolicy,
    /// Whether open work in the message is looked for.
    pub contradictions: ContradictionSearch,
}

impl ClaimRules {
    /// Returns the usual rules for `promise`.
    pub fn new(promise: Promise) -> Self {
        Self {
            promise,
            matching: PromiseMatching::Loose,
            scope: ClaimScope::Final,
            nonce: None,
            plain: PlainLinePolicy::Refused,
            contradictions: ContradictionSearch::On { extra: Vec::new() },
        }
    }
}
