//! How a parser tells that an attempt has failed.
use super::event::{AgentEvent, ErrorKind};
use super::reset::Reset;

/// Appends a fatal failure; before it, where it is a limit whose words say when it ends, that. A quota that says when
/// it is back is such a limit.
pub(super) fn fatal(kind: ErrorKind, message: String, out: &mut Vec<AgentEvent>) {
    let reset = match kind {
        ErrorKind::RateLimit | ErrorKind::Budget => Reset::in_words(&message),
        ErrorKind::Auth
        | ErrorKind::Context
        | ErrorKind::Model
        | ErrorKind::Overloaded
        | ErrorKind::Network
        | ErrorKind::Format
        | ErrorKind::Crash
        | ErrorKind::Unknown => Reset::Unknown {},
    };
    fatal_until(reset, kind, message, out);
}

/// The same where a member of the record says when the limit ends.
pub(super) fn fatal_until(reset: Reset, kind: ErrorKind, message: String, out: &mut Vec<AgentEvent>) {
    let is_known = reset != (Reset::Unknown {});
    if is_known {
        out.push(AgentEvent::RateLimit { reset, message: message.clone() });
    }
    let kind = if is_known { ErrorKind::RateLimit } else { kind };
    out.push(AgentEvent::Error { kind, message, fatal: true });
}
