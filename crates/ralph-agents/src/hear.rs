//! What of an agent's events matters for its claims. It judges nothing.
use ralph_core::claim::{Finder, Heard};

use super::event::AgentEvent;

/// Passes on what matters for claims.
pub fn hear(finder: &mut Finder, event: &AgentEvent) {
    match event {
        AgentEvent::Text { message, text } => finder.hear(Heard::Own { message: *message, text }),
        AgentEvent::Prompted => finder.hear(Heard::Prompted),
        AgentEvent::Unread => finder.hear(Heard::Unread),
        AgentEvent::Error { fatal: true, .. } => finder.hear(Heard::Failed),
        AgentEvent::Error { fatal: false, .. }
        | AgentEvent::Started { .. }
        | AgentEvent::Thinking { .. }
        | AgentEvent::ToolCall { .. }
        | AgentEvent::ToolResult { .. }
        | AgentEvent::AtWork
        | AgentEvent::Usage { .. }
        | AgentEvent::RateLimit { .. }
        | AgentEvent::Finished { .. } => {}
    }
}
