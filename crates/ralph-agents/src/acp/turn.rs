//! What the agent says in a turn: its messages in pieces, its thoughts, and errors in the place of an answer.
use super::failure;
use crate::detail::{EXCERPT, one_line};
use crate::event::{AgentEvent, ErrorKind};
use crate::voice::Voice;

/// The longest answer that may be an error.
const LONGEST_ERROR: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct Turn {
    voice: Voice,
    /// Numbers the messages of agents that give them no ids.
    run: u64,
    said: Said,
    thought: String,
}

/// The last message, as far as it can be an error: those come in one piece.
#[derive(Debug, Default)]
struct Said {
    message: u64,
    pieces: u32,
    first: String,
}

impl Turn {
    /// Says the next piece of a message. Another id is another message.
    pub(super) fn say(&mut self, id: Option<String>, text: String, out: &mut Vec<AgentEvent>) {
        self.end_thought(out);
        let id = id.unwrap_or_else(|| format!("run {}", self.run));
        let Some(event) = self.voice.whole(Some(id), text) else { return };
        if let AgentEvent::Text { message, text } = &event {
            self.said.hear(*message, text);
        }
        out.push(event);
    }

    /// Takes a piece of a thought; it is told when it is over.
    pub(super) fn think(&mut self, text: &str) {
        self.run += 1;
        if self.thought.len() < EXCERPT * 4 {
            self.thought.push_str(text);
        }
    }

    /// Something else happens: what the agent says next, without an id, is another message.
    pub(super) fn pause(&mut self, out: &mut Vec<AgentEvent>) {
        self.run += 1;
        self.end_thought(out);
    }

    /// Returns the error that the last message is, if it is one.
    pub(super) fn failure(&self) -> Option<(ErrorKind, String)> {
        (self.said.pieces == 1).then(|| failure::in_words(&self.said.first)).flatten()
    }

    fn end_thought(&mut self, out: &mut Vec<AgentEvent>) {
        let text = one_line(&std::mem::take(&mut self.thought), EXCERPT);
        if !text.is_empty() {
            out.push(AgentEvent::Thinking { text });
        }
    }
}

impl Said {
    fn hear(&mut self, message: u64, text: &str) {
        if self.message != message {
            let first = if text.len() > LONGEST_ERROR { String::new() } else { text.to_owned() };
            *self = Self { message, pieces: 0, first };
        }
        self.pieces = self.pieces.saturating_add(1);
    }
}
