//! The result of reading an agent's messages, and the sentences that explain it to users.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::tool_signal::SignalCall;
use super::wait_request::WaitRequest;
use crate::contradiction::Contradiction;

/// The claim in the agent's messages of one iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimReading {
    /// Whether completion is claimed.
    pub claim: Claim,
    /// The reason, if the agent's last signal is that it is blocked.
    pub blocked: Option<String>,
    /// The reason, if the agent's last signal rejects the work.
    pub reject: Option<String>,
    /// The wait, if the agent's last signal asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitRequest>,
    /// Where the agent called a tool of ralph that gives a signal.
    #[serde(default, skip_serializing_if = "SignalCall::is_not_seen")]
    pub signal_call: SignalCall,
    /// The tail of the final message, without terminal codes.
    pub final_text: String,
}

/// Whether completion is claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The agent asserts the promise.
    Made {
        /// The promise as the agent wrote it, or the summary that it gave to the tool.
        text: String,
        /// The line in the message or in the summary, counted from 1.
        line: u32,
        #[serde(default)]
        source: ClaimSource,
        /// A statement in the same message that work is still open.
        contradiction: Option<Contradiction>,
    },
    /// No claim was found.
    None {
        /// The reason.
        why: NoClaimReason,
    },
}

/// Where a claim was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimSource {
    /// In the agent's final message.
    #[default]
    Message,
    /// With the tool `claim_completion`.
    Tool,
}

impl Claim {
    #[must_use]
    pub fn is_made(&self) -> bool {
        match self {
            Self::Made { .. } => true,
            Self::None { .. } => false,
        }
    }

    /// Returns the statement in the message of the claim that work is open.
    #[must_use]
    pub fn contradiction(&self) -> Option<&Contradiction> {
        match self {
            Self::Made { contradiction, .. } => contradiction.as_ref(),
            Self::None { .. } => None,
        }
    }

    /// Returns the claim with its line number increased by `lines`, the number of lines above the excerpt.
    pub(crate) fn shift_line(self, lines: u32) -> Self {
        match self {
            Self::Made { text, line, source, contradiction } => {
                Self::Made { text, line: line.saturating_add(lines), source, contradiction }
            }
            Self::None { why } => Self::None { why },
        }
    }
}

/// The reason why no claim was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoClaimReason {
    /// The agent wrote no text.
    NoWords,
    /// The final message contains no promise tag.
    NoTag,
    /// An earlier message contains the promise, but the final message does not.
    Earlier,
    /// The last promise has a different text.
    OtherPromise {
        /// The text that was found.
        found: String,
    },
    /// The tag is only mentioned, not used.
    Mentioned {
        /// How the tag is mentioned.
        how: TagMention,
        /// The text around the tag.
        near: String,
    },
    /// The message retracts the promise.
    Retracted {
        /// The sentence that retracts it.
        sentence: String,
    },
    /// The attempt failed after the agent's last message.
    EndedInError,
    /// The agent's last message could not be read.
    Unheard,
    /// A record that was too long to read followed the agent's last message.
    Unread,
    /// The tag does not have the id that the prompt asked for.
    WrongNonce,
    /// The tag is not alone on its line, which exact matching requires.
    NotAlone,
    /// The agent's last signal is that it is blocked.
    Blocked,
    /// The agent's last signal rejects the work.
    Rejected,
    /// The agent's last signal asks for a wait.
    Waits,
    /// The agent's last signal asks for a wait without a valid time.
    MalformedWait,
    /// The agent gave a signal with a tool, and worked afterwards.
    WorkAfterTool {
        /// The tool of ralph.
        tool: String,
        /// The tool that the agent used afterwards, or a record that was too long to read.
        work: String,
    },
    /// The agent gave a signal with a tool, and its output does not show the call.
    ToolCallNotSeen {
        /// The tool of ralph.
        tool: String,
    },
}

/// How a tag is mentioned without being used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TagMention {
    /// In code formatting.
    Code,
    /// In a quotation.
    Quoted,
    /// In a table.
    Table,
    /// In a sentence that negates it.
    Negated,
    /// In a conditional sentence.
    Conditional,
    /// In a sentence about the future.
    Future,
    /// In a question.
    Asked,
    /// In an instruction or the description of a protocol.
    Instruction,
    /// In a report of what another speaker or source said.
    Reported,
    /// In the content of another element.
    InsideOtherTag,
    /// In the middle of a sentence.
    MidSentence,
    /// As an item in a list or a plan.
    Listed,
    /// In escaped form, not alone on its line.
    Escaped,
}

impl fmt::Display for TagMention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code => "the tag is in code formatting",
            Self::Quoted => "the tag is in a quotation",
            Self::Table => "the tag is in a table",
            Self::Negated => "the sentence around the tag negates it",
            Self::Conditional => "the sentence around the tag is conditional",
            Self::Future => "the sentence around the tag is about the future",
            Self::Asked => "the tag is part of a question",
            Self::Instruction => "the tag is part of an instruction or a description of the protocol",
            Self::Reported => "the tag is quoted from another speaker or source",
            Self::InsideOtherTag => "the tag is inside another element",
            Self::MidSentence => "the tag is in the middle of a sentence",
            Self::Listed => "the tag is an item in a list or a plan",
            Self::Escaped => "the tag is escaped and not alone on its line",
        })
    }
}

impl fmt::Display for NoClaimReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWords => f.write_str("the agent wrote no text"),
            Self::NoTag => f.write_str("the final message contains no promise tag"),
            Self::Earlier => {
                f.write_str("an earlier message contains the promise, but the final message does not repeat it")
            }
            Self::OtherPromise { found } => write!(f, "the last promise has a different text: {found}"),
            Self::Mentioned { how, near } => write!(f, "{how}: {near}"),
            Self::Retracted { sentence } => write!(f, "the message retracts the promise: {sentence}"),
            Self::EndedInError => f.write_str("the attempt failed after the agent's last message"),
            Self::Unheard => f.write_str("the agent's last message could not be read"),
            Self::Unread => {
                f.write_str("a record that may be the agent's last message was too long to read; see the raw log")
            }
            Self::WrongNonce => f.write_str("the tag does not have the id that the prompt asked for"),
            Self::NotAlone => f.write_str("the tag is not alone on its line"),
            Self::Blocked => f.write_str("the agent's last signal is that it is blocked"),
            Self::Rejected => f.write_str("the agent's last signal rejects the work"),
            Self::Waits => f.write_str("the agent's last signal asks for a wait"),
            Self::MalformedWait => f.write_str(
                "the agent asked for a wait without a valid time; valid are until=\"2026-03-04T15:00:00Z\" and for=\"30m\"",
            ),
            Self::WorkAfterTool { tool, work } => {
                write!(f, "the agent used {work} after {tool}, which must be its last call")
            }
            Self::ToolCallNotSeen { tool } => write!(
                f,
                "the agent called {tool}, but its output does not show the call, so work may have followed; use the tag instead"
            ),
        }
    }
}
