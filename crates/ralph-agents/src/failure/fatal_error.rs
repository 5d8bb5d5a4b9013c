//! How a parser reports that an attempt has failed.
use crate::failure::limit_reset::LimitReset;
use crate::stream::event::{AgentErrorKind, AgentEvent};

/// Appends a fatal error, preceded by a rate limit event if the message says when the limit ends. A quota with a reset
/// time counts as a rate limit.
pub(crate) fn push_fatal_error(kind: AgentErrorKind, message: String, out: &mut Vec<AgentEvent>) {
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

/// Same as [`push_fatal_error`], with a reset time that was read from the record instead of the message.
pub(crate) fn push_fatal_error_with_reset(
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
