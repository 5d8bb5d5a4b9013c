//! Joins the chunks of a streamed message to whole lines, because a chunk may end in the middle of a word, and redacts them,
//! because it may end in the middle of a secret. It prints nothing.
use std::time::{Duration, Instant};

use ralph_agents::AgentEvent;
use ralph_core::redact::StreamRedactor;
use ralph_util::redact;

/// A longer line of the agent is printed before its end.
const MAX_OPEN_LINE_BYTES: usize = 16 * 1024;

/// Keeps the beginning of a line until its end has been streamed.
#[derive(Default)]
pub(super) struct MessageJoiner {
    open_message: Option<OpenMessage>,
}

/// A message of which more may follow.
struct OpenMessage {
    id: u64,
    redactor: StreamRedactor,
    /// The beginning of a line, without secrets.
    open_line: String,
    changed_at: Instant,
}

impl OpenMessage {
    fn new(id: u64) -> Self {
        Self { id, redactor: redact::new_redactor(), open_line: String::new(), changed_at: Instant::now() }
    }

    /// Adds a chunk, and returns the texts that are complete. They keep their line breaks, so that an empty line is printed
    /// too.
    fn add_chunk(&mut self, text: &str) -> Vec<AgentEvent> {
        self.changed_at = Instant::now();
        let mut shown = Vec::new();
        self.redactor.push(text.as_bytes(), &mut |part| shown.extend_from_slice(part));
        self.open_line.push_str(&String::from_utf8_lossy(&shown));
        let rest = self.open_line.split_off(self.open_line.rfind('\n').map_or(0, |position| position + 1));
        let complete = std::mem::replace(&mut self.open_line, rest);
        let long = match self.open_line.len() > MAX_OPEN_LINE_BYTES {
            true => std::mem::take(&mut self.open_line),
            false => String::new(),
        };
        [complete, long].into_iter().filter_map(|text| self.text_event(text)).collect()
    }

    /// Returns the line that has no end: the message has ended.
    fn finish(mut self) -> Option<AgentEvent> {
        let mut rest = Vec::new();
        self.redactor.finish(&mut |part| rest.extend_from_slice(part));
        let line = format!("{}{}", self.open_line, String::from_utf8_lossy(&rest));
        self.text_event(line)
    }

    fn text_event(&self, text: String) -> Option<AgentEvent> {
        (!text.is_empty()).then_some(AgentEvent::Text { message: self.id, text })
    }
}

impl MessageJoiner {
    /// Adds a chunk of a message, and returns the texts that are complete.
    pub(super) fn add_chunk(&mut self, message: u64, text: &str) -> Vec<AgentEvent> {
        let earlier = self.open_message.take_if(|open| open.id != message);
        let open = self.open_message.get_or_insert_with(|| OpenMessage::new(message));
        let complete = open.add_chunk(text);
        earlier.and_then(OpenMessage::finish).into_iter().chain(complete).collect()
    }

    /// Returns the line that has no end: its message has ended, or something else follows.
    pub(super) fn take_open_line(&mut self) -> Option<AgentEvent> {
        self.open_message.take().and_then(OpenMessage::finish)
    }

    /// Returns the line that has no end yet if nothing was added to it for this time, unless it may end within a secret.
    pub(super) fn take_quiet_line(&mut self, quiet: Duration) -> Option<AgentEvent> {
        let is_quiet = |open: &OpenMessage| open.changed_at.elapsed() >= quiet && !open.redactor.may_be_inside_secret();
        if self.open_message.as_ref().is_some_and(is_quiet) { self.take_open_line() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X3
    // finding: N45, N66
    #[test]
    fn a_quiet_line_is_shown_unless_it_may_end_within_a_secret() {
        redact::register_variables([("QUIET_TOKEN", "abcdefgh-ijkl")]);
        let mut joiner = MessageJoiner::default();
        assert_eq!(joiner.add_chunk(1, "reading"), []);
        assert_eq!(joiner.take_quiet_line(Duration::from_secs(600)), None, "more may follow soon");
        let shown = AgentEvent::Text { message: 1, text: "reading".to_owned() };
        assert_eq!(joiner.take_quiet_line(Duration::ZERO), Some(shown));
        assert_eq!(joiner.add_chunk(1, "the key is abcdefgh-"), []);
        assert_eq!(joiner.take_quiet_line(Duration::ZERO), None);
        let redacted = AgentEvent::Text { message: 1, text: "the key is [redacted:QUIET_TOKEN]\n".to_owned() };
        assert_eq!(joiner.add_chunk(1, "ijkl\n"), [redacted]);
    }
}
