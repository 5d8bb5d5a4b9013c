//! How a parser tells that an attempt has failed.
use super::event::{AgentErrorKind, AgentEvent};
use super::limit_reset::LimitReset;

/// Appends a fatal failure; before it, where it is a limit whose words say when it ends, that. A quota that says when
/// it is back is such a limit.
pub(super) fn push_fatal_error(kind: AgentErrorKind, message: String, out: &mut Vec<AgentEvent>) {
    let reset = match kind {
        AgentErrorKind::RateLimit | AgentErrorKind::Budget => LimitReset::parse_message(&message),
        AgentErrorKind::Auth
        | AgentErrorKind::Context
        | AgentErrorKind::Model
        | AgentErrorKind::Overloaded
        | AgentErrorKind::Network
        | AgentErrorKind::Format
        | AgentErrorKind::Crash
        | AgentErrorKind::Unknown => LimitReset::Unknown {},
    };
    push_fatal_error_with_reset(reset, kind, message, out);
}

/// The same where a member of the record says when the limit ends.
pub(super) fn push_fatal_error_with_reset(
    reset: LimitReset,
    kind: AgentErrorKind,
    message: String,
    out: &mut Vec<AgentEvent>,
) {
    let is_known = reset != (LimitReset::Unknown {});
    if is_known {
        out.push(AgentEvent::RateLimit { reset, message: message.clone() });
    }
    let kind = if is_known { AgentErrorKind::RateLimit } else { kind };
    out.push(AgentEvent::Error { kind, message, fatal: true });
}
