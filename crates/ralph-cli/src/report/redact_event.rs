//! Redacts secrets in an agent's event before it is shown.
use ralph_agents::AgentEvent;
use ralph_util::redact;

#[must_use]
pub fn redact_event(event: &AgentEvent) -> AgentEvent {
    let hidden = |text: &String| redact::redact_text(text).into_owned();
    match event {
        AgentEvent::Text { message, text } => AgentEvent::Text { message: *message, text: hidden(text) },
        AgentEvent::Thinking { text } => AgentEvent::Thinking { text: hidden(text) },
        AgentEvent::ToolCall { name, detail } => AgentEvent::ToolCall { name: hidden(name), detail: hidden(detail) },
        AgentEvent::ToolResult { ok, excerpt } => AgentEvent::ToolResult { ok: *ok, excerpt: hidden(excerpt) },
        AgentEvent::PermissionDenied { action } => AgentEvent::PermissionDenied { action: hidden(action) },
        AgentEvent::RateLimit { reset, message } => {
            AgentEvent::RateLimit { reset: reset.clone(), message: hidden(message) }
        }
        AgentEvent::Error { kind, message, fatal } => {
            AgentEvent::Error { kind: *kind, message: hidden(message), fatal: *fatal }
        }
        AgentEvent::Started { session, model } => {
            AgentEvent::Started { session: session.as_ref().map(hidden), model: model.as_ref().map(hidden) }
        }
        AgentEvent::Unread
        | AgentEvent::AtWork
        | AgentEvent::Prompted
        | AgentEvent::Usage { .. }
        | AgentEvent::Finished { .. } => event.clone(),
    }
}
