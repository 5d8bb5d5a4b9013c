//! What was read in an agent's words, and the plain sentences that explain it to people.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::contradiction::Contradiction;

/// Everything that one iteration's words say about the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimReading {
    /// Whether completion is claimed.
    pub claim: Claim,
    /// The reason, when the agent's last signal is that it is blocked.
    pub blocked: Option<String>,
    /// The reason, when the agent's last signal sends the work back.
    pub reject: Option<String>,
    /// The end of the final message, without terminal codes.
    pub final_text: String,
}

/// Whether completion is claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The agent asserts the promise.
    Made {
        /// The promise as the agent wrote it.
        text: String,
        /// The line of the message, from 1.
        line: u32,
        /// What else in the message says that work is open.
        contradiction: Option<Contradiction>,
    },
    /// There is no claim.
    None {
        /// The reason.
        why: NoClaimReason,
    },
}

impl Claim {
    #[must_use]
    pub fn is_made(&self) -> bool {
        match self {
            Self::Made { .. } => true,
            Self::None { .. } => false,
        }
    }

    /// Returns the claim as it stands in a message with so many more lines above.
    pub(crate) fn shift_line(self, lines: u32) -> Self {
        match self {
            Self::Made { text, line, contradiction } => {
                Self::Made { text, line: line.saturating_add(lines), contradiction }
            }
            Self::None { why } => Self::None { why },
        }
    }
}

/// Why there is no claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoClaimReason {
    /// The agent said nothing.
    NoWords,
    /// The final message holds no promise tag.
    NoTag,
    /// The last promise has another text.
    OtherPromise {
        /// The text that was found.
        found: String,
    },
    /// The tag is there, but it is talked about and not used.
    Mentioned {
        /// How the tag is talked about.
        how: TagMention,
        /// The words around the tag.
        near: String,
    },
    /// The message takes the promise back.
    Retracted {
        /// The sentence that takes it back.
        sentence: String,
    },
    /// The attempt ended in an error after the agent's last words.
    EndedInError,
    /// What the agent said last could not be read.
    Unheard,
    /// A record that was too long to be read came after the agent's last words.
    Unread,
    /// The tag does not carry the id that the prompt asked for.
    WrongNonce,
    /// The tag is not alone on its line, as exact matching asks.
    NotAlone,
    /// The last signal says that the agent is blocked.
    Blocked,
    /// The last signal sends the work back.
    Rejected,
}

/// How a tag is talked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TagMention {
    /// In code formatting.
    Code,
    /// In a quotation.
    Quoted,
    /// In a table.
    Table,
    /// In a sentence that denies it.
    Negated,
    /// In a sentence that sets a condition.
    Conditional,
    /// In a sentence about later.
    Future,
    /// In a question.
    Asked,
    /// In an instruction or the description of a protocol.
    Instruction,
    /// In a report of what somebody or something else said.
    Reported,
    /// In the content of another element.
    InsideOtherTag,
    /// In the middle of a sentence.
    MidSentence,
    /// As an item of a list or a plan.
    Listed,
    /// In escaped form that is not alone on its line.
    Escaped,
}

impl fmt::Display for TagMention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code => "the tag stands in code formatting",
            Self::Quoted => "the tag stands in a quotation",
            Self::Table => "the tag stands in a table",
            Self::Negated => "the sentence around the tag denies it",
            Self::Conditional => "the sentence around the tag sets a condition",
            Self::Future => "the sentence around the tag says it is for later",
            Self::Asked => "the tag is part of a question",
            Self::Instruction => "the tag is part of an instruction or a description of the protocol",
            Self::Reported => "the tag is reported as the words of something else",
            Self::InsideOtherTag => "the tag is content of another element",
            Self::MidSentence => "the tag stands in the middle of a sentence",
            Self::Listed => "the tag is an item of a list or a plan",
            Self::Escaped => "the tag is escaped and not alone on its line",
        })
    }
}

impl fmt::Display for NoClaimReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWords => f.write_str("the agent said nothing"),
            Self::NoTag => f.write_str("the final message holds no promise tag"),
            Self::OtherPromise { found } => write!(f, "the last promise is another one: {found}"),
            Self::Mentioned { how, near } => write!(f, "{how}: {near}"),
            Self::Retracted { sentence } => write!(f, "the message takes the promise back: {sentence}"),
            Self::EndedInError => f.write_str("the attempt ended in an error after the last words"),
            Self::Unheard => f.write_str("what the agent said last could not be read"),
            Self::Unread => {
                f.write_str("a record that may be the agent's last message was too long to be read; the raw log has it")
            }
            Self::WrongNonce => f.write_str("the tag does not carry the id that the prompt asked for"),
            Self::NotAlone => f.write_str("the tag is not alone on its line"),
            Self::Blocked => f.write_str("the last signal says that the agent is blocked"),
            Self::Rejected => f.write_str("the last signal sends the work back"),
        }
    }
}
