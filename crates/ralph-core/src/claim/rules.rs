//! What counts as a claim in one run: the promised text and how strictly it is read.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Nonce, Promise};

/// How the text of a tag is compared with the promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matching {
    /// Letter case is ignored.
    Loose,
    /// Letter case counts, and the tag stands alone on its line.
    Exact,
}

/// Which of the agent's messages may hold the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Only the last message.
    Final,
    /// Every message since the last prompt.
    Iteration,
}

/// Whether the promised text counts without its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainLine {
    /// Only the tag counts.
    Refused,
    /// A line that is exactly the text counts too.
    Accepted,
}

/// Whether the final message is searched for statements of open work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contradictions {
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
    pub matching: Matching,
    /// Which messages count.
    pub scope: Scope,
    /// The id that the tag must carry, when one was asked for.
    pub nonce: Option<Nonce>,
    /// Whether the bare text on a line counts.
    pub plain: PlainLine,
    /// Whether open work in the message is looked for.
    pub contradictions: Contradictions,
}

impl ClaimRules {
    /// Returns the usual rules for `promise`.
    pub fn new(promise: Promise) -> Self {
        Self {
            promise,
            matching: Matching::Loose,
            scope: Scope::Final,
            nonce: None,
            plain: PlainLine::Refused,
            contradictions: Contradictions::On { extra: Vec::new() },
        }
    }
}
