//! Forwards the events that matter for claims to the claim finder. It decides nothing.
use ralph_core::claim::{ClaimFinder, TranscriptEvent};

use crate::stream::event::AgentEvent;

/// Forwards an event to the claim finder if it matters for claims.
pub fn feed_claim_finder(finder: &mut ClaimFinder, event: &AgentEvent) {
    match event {
        AgentEvent::Text { message, text } => {
            finder.handle_event(TranscriptEvent::AgentText { message: *message, text });
        }
        AgentEvent::Prompted => finder.handle_event(TranscriptEvent::NewPrompt),
        AgentEvent::Unread => finder.handle_event(TranscriptEvent::RecordSkipped),
        AgentEvent::Error { fatal: true, .. } => finder.handle_event(TranscriptEvent::TurnFailed),
        AgentEvent::ToolCall { name, .. } => finder.handle_event(TranscriptEvent::ToolCalled { name }),
        AgentEvent::ToolResult { .. } | AgentEvent::AtWork => finder.handle_event(TranscriptEvent::ToolUsed),
        AgentEvent::Finished { ok: true } => finder.handle_event(TranscriptEvent::TurnFinished),
        AgentEvent::Error { fatal: false, .. }
        | AgentEvent::Started { .. }
        | AgentEvent::Thinking { .. }
        | AgentEvent::PermissionDenied { .. }
        | AgentEvent::Usage { .. }
        | AgentEvent::RateLimit { .. }
        | AgentEvent::Finished { ok: false } => {}
    }
}
