//! Turns events into plain lines for people. Everything an agent wrote is made harmless first; colours and
//! layout are the business of whoever prints.
use super::event::AgentEvent;
use ralph_util::sanitize::sanitize;

/// How much of one event is shown.
const LINES: usize = 400;
const LINE_CHARS: usize = 2_000;

const UNREAD: &str =
    "a record was too long to be read; if it held words of the agent, only the raw log has them";

/// Returns the lines that show an event; none for those that only feed the books.
pub fn render(event: &AgentEvent) -> Vec<String> {
    match event {
        AgentEvent::Text { text, .. } => lines(text),
        AgentEvent::Thinking { text } => one("  … ", text),
        AgentEvent::ToolCall { name, detail } if detail.is_empty() => one("● ", name),
        AgentEvent::ToolCall { name, detail } => one("● ", &format!("{name}  {detail}")),
        AgentEvent::ToolResult { ok, excerpt } => result(*ok, excerpt),
        AgentEvent::RateLimit { message, .. } => one("! ", message),
        AgentEvent::Error { kind, message, .. } => one("! ", &format!("{}: {message}", kind.name())),
        AgentEvent::Unread => one("! ", UNREAD),
        AgentEvent::Started { .. }
        | AgentEvent::AtWork
        | AgentEvent::Prompted
        | AgentEvent::Usage { .. }
        | AgentEvent::Finished { .. } => Vec::new(),
    }
}

fn result(ok: bool, excerpt: &str) -> Vec<String> {
    let word = if ok { "ok" } else { "failed" };
    if excerpt.is_empty() { one("  ↳ ", word) } else { one("  ↳ ", &format!("{word}: {excerpt}")) }
}

fn one(mark: &str, text: &str) -> Vec<String> {
    let line = sanitize(text).replace('\n', " ");
    vec![format!("{mark}{}", bounded(line.trim()))]
}

fn lines(text: &str) -> Vec<String> {
    let clean = sanitize(text);
    let mut shown: Vec<String> = clean.lines().take(LINES).map(bounded).collect();
    let hidden = clean.lines().count().saturating_sub(LINES);
    if hidden > 0 {
        shown.push(format!("… {hidden} more lines"));
    }
    shown
}

fn bounded(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Reset};

    #[test] // spec: A4
    fn each_kind_of_event_has_its_look() {
        let call = |name: &str, detail: &str| {
            render(&AgentEvent::ToolCall { name: name.into(), detail: detail.into() })
        };
        let answer = |ok, text: &str| render(&AgentEvent::ToolResult { ok, excerpt: text.into() });
        assert_eq!(
            render(&AgentEvent::Text { message: 1, text: "Done.\n\nBye\n".into() }),
            ["Done.", "", "Bye"]
        );
        assert_eq!(call("Bash", "npm test"), ["● Bash  npm test"]);
        assert_eq!(call("TodoWrite", ""), ["● TodoWrite"]);
        assert_eq!(answer(true, "12 passed"), ["  ↳ ok: 12 passed"]);
        assert_eq!(answer(false, ""), ["  ↳ failed"]);
        assert_eq!(render(&AgentEvent::Thinking { text: "hm".into() }), ["  … hm"]);
        let error =
            AgentEvent::Error { kind: ErrorKind::RateLimit, message: "slow\ndown".into(), fatal: true };
        assert_eq!(render(&error), ["! rate_limit: slow down"]);
        assert_eq!(render(&AgentEvent::Prompted), [""; 0]);
    }

    #[test] // spec: A4
    fn no_sequence_of_the_agent_s_passes_from_any_event() {
        let evil = "a\x1b]52;c;eA==\x07\x1b[2J\u{202e}b\x1b]8;;u\x1b\\c";
        let events = [
            AgentEvent::Text { message: 1, text: evil.into() },
            AgentEvent::Thinking { text: evil.into() },
            AgentEvent::ToolCall { name: evil.into(), detail: evil.into() },
            AgentEvent::ToolResult { ok: true, excerpt: evil.into() },
            AgentEvent::RateLimit { reset: Reset::Unknown {}, message: evil.into() },
            AgentEvent::Error { kind: ErrorKind::Unknown, message: evil.into(), fatal: false },
        ];
        for line in events.iter().flat_map(render) {
            assert!(line.contains("abc") && !line.chars().any(char::is_control), "{line:?}");
        }
    }

    #[test] // spec: A4
    fn a_flood_is_shown_in_part() {
        let shown = render(&AgentEvent::Text { message: 1, text: "x\n".repeat(5_000) });
        assert_eq!(shown.len(), LINES + 1);
        assert_eq!(shown.last().unwrap(), "… 4600 more lines");
        let shown = render(&AgentEvent::Text { message: 1, text: "é".repeat(5_000) });
        assert_eq!(shown[0].chars().count(), LINE_CHARS + 1);
    }
}
