//! The settings that decide what counts as a claim in one run.

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
    /// Letter case counts, and the tag must be alone on its line.
    Exact,
}

/// Which of the agent's messages may contain the claim.
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
    /// A line that is exactly the promised text also counts.
    Accepted,
}

/// Whether a message that claims completion is searched for statements of open work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContradictionSearch {
    /// The message is not searched.
    Off,
    /// The message is searched for the built-in statements and for the user's phrases in `extra`.
    On {
        /// Phrases that the user added to the built-in list.
        extra: Vec<String>,
    },
}

/// The rules for reading claims in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRules {
    /// The text that must be promised.
    pub promise: Promise,
    /// How strictly it is compared.
    pub matching: PromiseMatching,
    /// Which messages count.
    pub scope: ClaimScope,
    /// The id that the tag must have, if the prompt asked for one.
    pub nonce: Option<PromiseNonce>,
    /// Whether the promised text counts without its tag.
    pub plain: PlainLinePolicy,
    /// Whether the message is searched for open work.
    pub contradictions: ContradictionSearch,
}

impl ClaimRules {
    /// Returns the default rules for `promise`.
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
