//! What an agent did, in the same words for every agent.
pub use ralph_core::attempt::AgentErrorKind;
use serde::Serialize;

use super::limit_reset::LimitReset;

/// One fact read from an agent's output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The agent named its session or its model. It may do so again; what it knows by then is repeated.
    Started { session: Option<String>, model: Option<String> },
    /// The agent's own words. The same number again means the same message, continued.
    Text { message: u64, text: String },
    /// An excerpt of its private reasoning.
    Thinking { text: String },
    /// A tool call: its name and one short line about it.
    ToolCall { name: String, detail: String },
    /// An excerpt of what a tool answered, never the whole.
    ToolResult { ok: bool, excerpt: String },
    /// It used a tool, or thought, and nobody looks: that it got on is all that is told.
    AtWork,
    /// A record was too long to be read; it may have held words of the agent's.
    Unread,
    /// Somebody else spoke: whatever the agent said before belongs to an earlier turn.
    Prompted,
    /// What to add to the spend. `None` is unknown, which is not zero.
    Usage { input_tokens: Option<u64>, output_tokens: Option<u64>, cost_usd: Option<f64> },
    /// The provider refuses further requests until then.
    RateLimit {
        #[serde(flatten)]
        reset: LimitReset,
        message: String,
    },
    /// Something went wrong. Only a fatal error ends the attempt.
    Error { kind: AgentErrorKind, message: String, fatal: bool },
    /// The agent's own final record. More may follow; then the last one counts.
    Finished { ok: bool },
}

/// Says that the agent got on, once for whatever comes in a row.
pub(super) fn push_at_work_once(out: &mut Vec<AgentEvent>) {
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
