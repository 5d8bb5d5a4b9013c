//! Renders events as plain lines for display. All agent output is sanitized first; colours and layout are up to the
//! caller.
use crate::stream::event::AgentEvent;
use ralph_util::sanitize::sanitize_text;

/// Display limits for one event.
const MAX_LINES_PER_EVENT: usize = 400;
const MAX_LINE_CHARS: usize = 2_000;

const UNREAD_RECORD_MESSAGE: &str =
    "a record was too long and was skipped; if it contained agent text, only the raw log has it";

/// Returns the lines that display an event. Events that are only counted have none.
pub fn render_event(event: &AgentEvent) -> Vec<String> {
    match event {
        AgentEvent::Text { text, .. } => render_text(text),
        AgentEvent::Thinking { text } => render_marked_line("  … ", text),
        AgentEvent::ToolCall { name, detail } if detail.is_empty() => render_marked_line("● ", name),
        AgentEvent::ToolCall { name, detail } => render_marked_line("● ", &format!("{name}  {detail}")),
        AgentEvent::ToolResult { ok, excerpt } => render_tool_result(*ok, excerpt),
        AgentEvent::PermissionDenied { action } => render_marked_line("! ", &format!("permission denied: {action}")),
        AgentEvent::RateLimit { message, .. } => render_marked_line("! ", message),
        AgentEvent::Error { kind, message, .. } => render_marked_line("! ", &format!("{}: {message}", kind.name())),
        AgentEvent::Unread => render_marked_line("! ", UNREAD_RECORD_MESSAGE),
        AgentEvent::Started { .. }
        | AgentEvent::AtWork
        | AgentEvent::Prompted
        | AgentEvent::Usage { .. }
        | AgentEvent::Finished { .. } => Vec::new(),
    }
}

fn render_tool_result(ok: bool, excerpt: &str) -> Vec<String> {
    let word = if ok { "ok" } else { "failed" };
    if excerpt.is_empty() {
        render_marked_line("  ↳ ", word)
    } else {
        render_marked_line("  ↳ ", &format!("{word}: {excerpt}"))
    }
}

fn render_marked_line(mark: &str, text: &str) -> Vec<String> {
    let line = sanitize_text(text).replace('\n', " ");
    vec![format!("{mark}{}", truncate_line(line.trim()))]
}

fn render_text(text: &str) -> Vec<String> {
    let clean = sanitize_text(text);
    let mut shown: Vec<String> = clean.lines().take(MAX_LINES_PER_EVENT).map(truncate_line).collect();
    let hidden = clean.lines().count().saturating_sub(MAX_LINES_PER_EVENT);
    if hidden > 0 {
        shown.push(format!("… {hidden} more lines"));
    }
    shown
}

fn truncate_line(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgentErrorKind, LimitReset};

    #[test] // spec: A4
    fn each_kind_of_event_is_rendered_differently() {
        let call =
            |name: &str, detail: &str| render_event(&AgentEvent::ToolCall { name: name.into(), detail: detail.into() });
        let answer = |ok, text: &str| render_event(&AgentEvent::ToolResult { ok, excerpt: text.into() });
        assert_eq!(render_event(&AgentEvent::Text { message: 1, text: "Done.\n\nBye\n".into() }), ["Done.", "", "Bye"]);
        assert_eq!(call("Bash", "npm test"), ["● Bash  npm test"]);
        assert_eq!(call("TodoWrite", ""), ["● TodoWrite"]);
        assert_eq!(answer(true, "12 passed"), ["  ↳ ok: 12 passed"]);
        assert_eq!(answer(false, ""), ["  ↳ failed"]);
        assert_eq!(render_event(&AgentEvent::Thinking { text: "hm".into() }), ["  … hm"]);
        let error = AgentEvent::Error { kind: AgentErrorKind::RateLimit, message: "slow\ndown".into(), fatal: true };
        assert_eq!(render_event(&error), ["! rate_limit: slow down"]);
        assert_eq!(render_event(&AgentEvent::Prompted), [""; 0]);
    }

    #[test] // spec: A4
    fn control_sequences_are_removed_from_every_event() {
        let evil = "a\x1b]52;c;eA==\x07\x1b[2J\u{202e}b\x1b]8;;u\x1b\\c";
        let events = [
            AgentEvent::Text { message: 1, text: evil.into() },
            AgentEvent::Thinking { text: evil.into() },
            AgentEvent::ToolCall { name: evil.into(), detail: evil.into() },
            AgentEvent::ToolResult { ok: true, excerpt: evil.into() },
            AgentEvent::RateLimit { reset: LimitReset::Unknown {}, message: evil.into() },
            AgentEvent::Error { kind: AgentErrorKind::Unknown, message: evil.into(), fatal: false },
        ];
        for line in events.iter().flat_map(render_event) {
            assert!(line.contains("abc") && !line.chars().any(char::is_control), "{line:?}");
        }
    }

    #[test] // spec: A4
    fn a_flood_of_lines_is_truncated() {
        let shown = render_event(&AgentEvent::Text { message: 1, text: "x\n".repeat(5_000) });
        assert_eq!(shown.len(), MAX_LINES_PER_EVENT + 1);
        assert_eq!(shown.last().unwrap(), "… 4600 more lines");
        let shown = render_event(&AgentEvent::Text { message: 1, text: "é".repeat(5_000) });
        assert_eq!(shown[0].chars().count(), MAX_LINE_CHARS + 1);
    }
}
