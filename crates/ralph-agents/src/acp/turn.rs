//! The agent's text in a turn: messages in pieces, reasoning, and error text in place of an answer.
use super::rpc_error;
use crate::stream::event::{AgentEvent, AgentFailure};
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::tool_summary::{EXCERPT_CHARS, to_one_line};

/// Longer messages are never treated as error text.
const MAX_ERROR_MESSAGE_BYTES: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(crate) struct AcpTurn {
    numbering: MessageNumbering,
    /// Numbers the messages of agents that give them no ids.
    unnamed_message_number: u64,
    last_message: LastAcpMessage,
    thought: String,
}

/// The last message. It can be an error only if it came in one piece.
#[derive(Debug, Default)]
struct LastAcpMessage {
    number: u64,
    pieces: u32,
    first_piece: String,
}

impl AcpTurn {
    /// Appends the next piece of a message. A different id starts a new message.
    pub(crate) fn push_message_piece(&mut self, id: Option<String>, text: String, out: &mut Vec<AgentEvent>) {
        self.flush_thought(out);
        let id = id.unwrap_or_else(|| format!("run {}", self.unnamed_message_number));
        let Some(event) = self.numbering.number_whole_message(Some(id), text) else { return };
        if let AgentEvent::Text { message, text } = &event {
            self.last_message.record_piece(*message, text);
        }
        out.push(event);
    }

    /// Collects a piece of reasoning, which is reported when it has ended.
    pub(crate) fn push_thought_piece(&mut self, text: &str) {
        self.unnamed_message_number += 1;
        if self.thought.len() < EXCERPT_CHARS * 4 {
            self.thought.push_str(text);
        }
    }

    /// Ends the current message: later text without an id belongs to a new message.
    pub(crate) fn end_message(&mut self, out: &mut Vec<AgentEvent>) {
        self.unnamed_message_number += 1;
        self.flush_thought(out);
    }

    /// Returns the failure if the last message is error text.
    pub(crate) fn failure_in_message(&self) -> Option<AgentFailure> {
        (self.last_message.pieces == 1)
            .then(|| rpc_error::classify_error_text(&self.last_message.first_piece))
            .flatten()
    }

    fn flush_thought(&mut self, out: &mut Vec<AgentEvent>) {
        let text = to_one_line(&std::mem::take(&mut self.thought), EXCERPT_CHARS);
        if !text.is_empty() {
            out.push(AgentEvent::Thinking { text });
        }
    }
}

impl LastAcpMessage {
    fn record_piece(&mut self, message: u64, text: &str) {
        if self.number != message {
            let first = if text.len() > MAX_ERROR_MESSAGE_BYTES { String::new() } else { text.to_owned() };
            *self = Self { number: message, pieces: 0, first_piece: first };
        }
        self.pieces = self.pieces.saturating_add(1);
    }
}
