//! The text of one agent that its conversation has not got yet. It is limited: the newest part is kept.
use std::collections::VecDeque;

/// A longer message of an agent is shown in parts.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;
/// Of the text of an iteration, at most this much is shown at its end.
const MAX_KEPT_BYTES: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct AgentOutput {
    /// The message that may continue, with its number.
    open: Option<(u64, String)>,
    complete: VecDeque<String>,
    complete_bytes: usize,
    left_out_bytes: usize,
}

impl AgentOutput {
    /// Adds a part of a message.
    pub(super) fn add(&mut self, message: u64, text: &str) {
        if self.open.as_ref().is_some_and(|(open, _)| *open != message) {
            self.close_message();
        }
        let mut rest = text;
        while !rest.is_empty() {
            let open = &mut self.open.get_or_insert_with(|| (message, String::new())).1;
            let end = rest.floor_char_boundary(MAX_MESSAGE_BYTES.saturating_sub(open.len()));
            let (part, later) = rest.split_at(end);
            open.push_str(part);
            rest = later;
            if !rest.is_empty() {
                self.close_message();
            }
        }
    }

    pub(super) fn close_message(&mut self) {
        if let Some((_, text)) = self.open.take() {
            self.push(text.trim().to_owned());
        }
    }

    /// Adds a complete message. The oldest ones make room for it.
    pub(super) fn push(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.complete_bytes += text.len();
        self.complete.push_back(text);
        while self.complete_bytes > MAX_KEPT_BYTES {
            let Some(oldest) = self.complete.pop_front() else { return };
            self.complete_bytes -= oldest.len();
            self.left_out_bytes += oldest.len();
        }
    }

    /// Takes the complete messages, after a note about what was left out.
    pub(super) fn take_complete(&mut self) -> Vec<String> {
        self.complete_bytes = 0;
        let note = match std::mem::take(&mut self.left_out_bytes) {
            0 => None,
            bytes => Some(format!("({bytes} bytes of earlier text are left out here; the log has all of it)")),
        };
        note.into_iter().chain(std::mem::take(&mut self.complete)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W8
    // fault: 41
    #[test]
    fn of_very_much_text_the_newest_is_kept_and_the_rest_is_counted() {
        let mut output = AgentOutput::default();
        let most = 10_000;
        for number in 0..most {
            output.add(number, &format!("message {number:04} {}", "x".repeat(1000)));
        }
        output.close_message();
        let taken = output.take_complete();
        let bytes: usize = taken.iter().map(String::len).sum();
        assert!(bytes < MAX_KEPT_BYTES + 200, "{bytes}");
        assert!(taken.last().unwrap().starts_with("message 9999 "));
        let length = "message 0000 ".len() + 1000;
        let left_out = (most as usize - (taken.len() - 1)) * length;
        assert_eq!(taken[0], format!("({left_out} bytes of earlier text are left out here; the log has all of it)"));
        assert_eq!(output.take_complete(), [""; 0]);
    }

    // spec: W8
    #[test]
    fn a_long_message_is_shown_in_parts_of_whole_characters() {
        let mut output = AgentOutput::default();
        let text = "é".repeat(MAX_MESSAGE_BYTES);
        output.add(1, "a");
        output.add(1, &text);
        output.close_message();
        let parts = output.take_complete();
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.concat(), format!("a{text}"));
    }

    // spec: W8
    #[test]
    fn parts_of_a_message_are_joined_and_the_next_message_is_another_one() {
        let mut output = AgentOutput::default();
        for (message, text) in [(1, "one "), (1, "message"), (2, "  "), (3, "another")] {
            output.add(message, text);
        }
        output.close_message();
        assert_eq!(output.take_complete(), ["one message", "another"]);
    }
}
