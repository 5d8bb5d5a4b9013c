//! Signals that an agent gives with a tool of ralph instead of a tag in its message: done, blocked or a wait. Like a promise, such
//! a signal must be the end of the work: the agent's transcript decides whether work followed the call.
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use super::message::code_block::CodeBlockScanner;
use super::message::parsed_message::ParsedMessage;
use super::rules::retraction::find_retraction;
use super::text::quote::quote_without_tags;
use super::{
    Claim, ClaimReading, ClaimRules, ClaimSource, ContradictionSearch, NoClaimReason, PromiseNonce, WaitRequest,
};
use crate::contradiction::{self, Contradiction};
use crate::text::text_head;

/// How much of the name of a tool is kept.
const MAX_TOOL_NAME_BYTES: usize = 80;

/// A signal that the agent gave with a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum ToolSignal {
    /// The work is done.
    Done {
        summary: String,
    },
    Blocked {
        reason: String,
    },
    Wait {
        request: WaitRequest,
    },
}

impl ToolSignal {
    /// Returns the tool that gives this signal.
    #[must_use]
    pub fn tool(&self) -> AgentTool {
        match self {
            Self::Done { .. } => AgentTool::ClaimCompletion,
            Self::Blocked { .. } => AgentTool::ReportBlocked,
            Self::Wait { .. } => AgentTool::RequestWait,
        }
    }
}

/// The tools of `ralph mcp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentTool {
    ReadTask,
    ReadStatus,
    ReportProgress,
    ClaimCompletion,
    RequestWait,
    ReportBlocked,
    CreateFollowup,
}

impl AgentTool {
    pub const ALL: [Self; 7] = [
        Self::ReadTask,
        Self::ReadStatus,
        Self::ReportProgress,
        Self::ClaimCompletion,
        Self::RequestWait,
        Self::ReportBlocked,
        Self::CreateFollowup,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadTask => "read_task",
            Self::ReadStatus => "read_status",
            Self::ReportProgress => "report_progress",
            Self::ClaimCompletion => "claim_completion",
            Self::RequestWait => "request_wait",
            Self::ReportBlocked => "report_blocked",
            Self::CreateFollowup => "create_followup_task",
        }
    }

    /// Returns whether the tool only reads, so that it can also be called outside of a run.
    #[must_use]
    pub fn only_reads(self) -> bool {
        match self {
            Self::ReadTask | Self::ReadStatus => true,
            Self::ReportProgress
            | Self::ClaimCompletion
            | Self::RequestWait
            | Self::ReportBlocked
            | Self::CreateFollowup => false,
        }
    }

    /// Returns the tool that an agent calls by this name. Agents put the name of the server before the name of the tool, in
    /// different ways: `mcp__ralph__read_task`, `ralph.read_task`, `ralph_read_task`.
    #[must_use]
    pub fn from_called_name(called: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| {
            called
                .strip_suffix(tool.name())
                .is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric()))
        })
    }

    fn gives_signal(self) -> bool {
        match self {
            Self::ClaimCompletion | Self::RequestWait | Self::ReportBlocked => true,
            Self::ReadTask | Self::ReadStatus | Self::ReportProgress | Self::CreateFollowup => false,
        }
    }
}

/// Where the last call of a tool that gives a signal is in the transcript of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum SignalCall {
    /// The transcript shows no such call.
    #[default]
    NotSeen,
    /// No work followed it.
    Last {
        /// Whether the agent wrote text after it.
        has_text_after: bool,
        /// A sentence of the final message that takes it back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retraction: Option<String>,
        /// A statement in the final message that work is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contradiction: Option<Contradiction>,
        /// How the text of the signal is searched for such statements.
        search: ContradictionSearch,
    },
    /// The agent used another tool after it.
    Followed { by: String },
}

impl SignalCall {
    #[must_use]
    pub fn is_not_seen(&self) -> bool {
        match self {
            Self::NotSeen => true,
            Self::Last { .. } | Self::Followed { .. } => false,
        }
    }
}

/// Follows the calls of tools in the transcript of one attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct SignalCallTracker {
    position: CallPosition,
}

#[derive(Debug, Clone, Default)]
enum CallPosition {
    #[default]
    NotSeen,
    Last {
        has_text_after: bool,
    },
    Followed {
        by: String,
    },
}

impl SignalCallTracker {
    /// The agent called a tool. Only the tools of ralph are not work.
    pub(super) fn record_call(&mut self, name: &str) {
        let tool = AgentTool::from_called_name(name);
        if tool.is_some_and(AgentTool::gives_signal) {
            self.position = CallPosition::Last { has_text_after: false };
        } else if tool.is_none() {
            let name = text_head(name, MAX_TOOL_NAME_BYTES);
            self.record_work(if name.is_empty() { "another tool" } else { name });
        }
    }

    /// The agent worked, or may have worked.
    pub(super) fn record_work(&mut self, by: &str) {
        if let CallPosition::Last { .. } = self.position {
            self.position = CallPosition::Followed { by: by.to_string() };
        }
    }

    /// The agent wrote text that can be seen.
    pub(super) fn record_text(&mut self) {
        if let CallPosition::Last { has_text_after } = &mut self.position {
            *has_text_after = true;
        }
    }

    /// Returns where the last call is. The final message may take it back, or say that work is open.
    pub(super) fn read_call(&self, final_text: &str, rules: &ClaimRules) -> SignalCall {
        match &self.position {
            CallPosition::NotSeen => SignalCall::NotSeen,
            CallPosition::Followed { by } => SignalCall::Followed { by: by.clone() },
            CallPosition::Last { has_text_after } => {
                let view = ParsedMessage::new(final_text, CodeBlockScanner::default());
                SignalCall::Last {
                    has_text_after: *has_text_after,
                    retraction: find_retraction(&view, 0).map(|sentence| quote_without_tags(&sentence)),
                    contradiction: search_open_work(&view, &rules.contradictions),
                    search: rules.contradictions.clone(),
                }
            }
        }
    }
}

fn search_open_work(view: &ParsedMessage<'_>, search: &ContradictionSearch) -> Option<Contradiction> {
    match search {
        ContradictionSearch::Off => None,
        ContradictionSearch::On { extra } => contradiction::find_contradiction(view, view.text.len(), extra),
    }
}

impl ClaimReading {
    /// Adds the signal that the agent gave with a tool, if there is one. The last signal of the attempt counts: a tag in text that
    /// follows the call outranks it, and so does text that takes it back. In case of doubt the signal does not count.
    #[must_use]
    pub fn with_tool_signal(self, signal: &ToolSignal, nonce: Option<&PromiseNonce>) -> Self {
        let has_text_after = match &self.signal_call {
            SignalCall::Last { has_text_after, .. } => *has_text_after,
            // It is unknown what came after the call.
            SignalCall::NotSeen | SignalCall::Followed { .. } => true,
        };
        if self.outranks_tool(has_text_after) {
            return self;
        }
        let why = match (&self.signal_call, signal) {
            (SignalCall::NotSeen, _) => NoClaimReason::ToolCallNotSeen { tool: signal.tool().name().to_string() },
            (SignalCall::Followed { by }, _) => {
                NoClaimReason::WorkAfterTool { tool: signal.tool().name().to_string(), work: by.clone() }
            }
            (SignalCall::Last { retraction: Some(sentence), .. }, _) => {
                NoClaimReason::Retracted { sentence: sentence.clone() }
            }
            (SignalCall::Last { .. }, ToolSignal::Done { .. }) if nonce.is_some() => NoClaimReason::WrongNonce,
            (SignalCall::Last { contradiction, search, .. }, ToolSignal::Done { summary }) => {
                let in_summary = || search_open_work(&ParsedMessage::new(summary, CodeBlockScanner::default()), search);
                let contradiction = contradiction.clone().or_else(in_summary);
                let claim = Claim::Made { text: summary.clone(), line: 1, source: ClaimSource::Tool, contradiction };
                return Self { claim, ..self.without_signals() };
            }
            (SignalCall::Last { .. }, ToolSignal::Blocked { reason }) => {
                let claim = Claim::None { why: NoClaimReason::Blocked };
                return Self { claim, blocked: Some(reason.clone()), ..self.without_signals() };
            }
            (SignalCall::Last { .. }, ToolSignal::Wait { request }) => {
                let claim = Claim::None { why: NoClaimReason::Waits };
                return Self { claim, wait: Some(request.clone()), ..self.without_signals() };
            }
        };
        Self { claim: Claim::None { why }, ..self.without_signals() }
    }

    /// Returns whether the agent's text decides, not the signal of a tool.
    fn outranks_tool(&self, has_text_after: bool) -> bool {
        match &self.claim {
            Claim::Made { .. } => has_text_after,
            Claim::None { why } => match why {
                NoClaimReason::EndedInError | NoClaimReason::Unheard | NoClaimReason::Unread => true,
                NoClaimReason::NoWords | NoClaimReason::NoTag | NoClaimReason::Earlier => false,
                NoClaimReason::OtherPromise { .. }
                | NoClaimReason::Mentioned { .. }
                | NoClaimReason::Retracted { .. }
                | NoClaimReason::WrongNonce
                | NoClaimReason::NotAlone
                | NoClaimReason::Blocked
                | NoClaimReason::Rejected
                | NoClaimReason::Waits
                | NoClaimReason::MalformedWait
                | NoClaimReason::WorkAfterTool { .. }
                | NoClaimReason::ToolCallNotSeen { .. } => has_text_after,
            },
        }
    }

    fn without_signals(self) -> Self {
        Self { blocked: None, reject: None, wait: None, ..self }
    }
}

#[cfg(test)]
#[path = "tool_signal_tests.rs"]
mod tests;
