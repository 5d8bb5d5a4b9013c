//! The events that every output parser produces, independent of the agent.
pub use ralph_core::attempt::AgentErrorKind;
use ralph_core::claim::AgentTool;
use serde::Serialize;

use crate::failure::limit_reset::LimitReset;

/// One event read from an agent's output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The agent named its session or its model. Each later event contains all values known so far.
    Started { session: Option<String>, model: Option<String> },
    /// Text of the agent. Events with the same message number belong to one message.
    Text { message: u64, text: String },
    /// An excerpt of its private reasoning; empty when nothing is displayed.
    Thinking { text: String },
    /// A tool call: the tool's name and a one-line summary.
    ToolCall { name: String, detail: String },
    /// An excerpt of a tool's output, never all of it.
    ToolResult { ok: bool, excerpt: String },
    /// The agent was not allowed to use a tool: its name and a one-line summary of the call.
    PermissionDenied { action: String },
    /// A tool has returned a result. Replaces the result when nothing is displayed.
    AtWork,
    /// A record exceeded the size limit and was skipped. It may have contained agent text.
    Unread,
    /// The agent received a prompt: its earlier text belongs to a previous turn.
    Prompted,
    /// Usage to add to the total. `None` means unknown, not zero.
    Usage { input_tokens: Option<u64>, output_tokens: Option<u64>, cost_usd: Option<f64> },
    /// The provider refuses further requests until the reset.
    RateLimit {
        #[serde(flatten)]
        reset: LimitReset,
        message: String,
    },
    /// A failure. Only a fatal error ends the attempt.
    Error { kind: AgentErrorKind, message: String, fatal: bool },
    /// The agent's final record. If several follow, the last one counts.
    Finished { ok: bool },
}

impl AgentEvent {
    /// Returns whether this event shows that the agent is working.
    #[must_use]
    pub fn shows_work(&self) -> bool {
        match self {
            Self::Started { .. }
            | Self::Prompted
            | Self::Unread
            | Self::AtWork
            | Self::Text { .. }
            | Self::Thinking { .. }
            | Self::ToolCall { .. }
            | Self::ToolResult { .. } => true,
            Self::PermissionDenied { .. }
            | Self::Usage { .. }
            | Self::RateLimit { .. }
            | Self::Error { .. }
            | Self::Finished { .. } => false,
        }
    }
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFailure {
    pub kind: AgentErrorKind,
    pub message: String,
}

impl AgentFailure {
    pub(crate) fn new(kind: AgentErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// Returns the name of a tool that a sub-agent called. A sub-agent gives no signals for the agent, so its calls of ralph's tools get
/// another name.
pub(crate) fn name_of_nested_call(name: String) -> String {
    match AgentTool::from_called_name(&name) {
        Some(_) => format!("{name} (sub-agent)"),
        None => name,
    }
}

/// Returns the event of a denied call of this tool.
pub(crate) fn permission_denied_event(name: &str, detail: &str) -> AgentEvent {
    let action = if detail.is_empty() { name.to_owned() } else { format!("{name}: {detail}") };
    AgentEvent::PermissionDenied { action }
}

/// Appends [`AgentEvent::AtWork`] unless it is already the last event.
pub(crate) fn push_at_work_once(out: &mut Vec<AgentEvent>) {
    if out.last() != Some(&AgentEvent::AtWork) {
        out.push(AgentEvent::AtWork);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A5, A8
    fn an_error_kind_is_written_by_its_name() {
        for kind in
            [AgentErrorKind::RateLimit, AgentErrorKind::Auth, AgentErrorKind::Unknown, AgentErrorKind::Overloaded]
        {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test] // spec: A5, A8
    fn an_event_is_one_flat_object_named_by_its_kind() {
        let event = AgentEvent::Error { kind: AgentErrorKind::RateLimit, message: "slow down".into(), fatal: true };
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(json, r#"{"event":"error","kind":"rate_limit","message":"slow down","fatal":true}"#);
        assert_eq!(serde_json::to_string(&AgentEvent::Prompted).unwrap(), r#"{"event":"prompted"}"#);
    }
}
