//! Numbers the agent's messages. Some agents send a message twice, first in pieces and then whole. Each form gets its
//! own number, so that no sentence occurs twice in one message.
use crate::stream::event::AgentEvent;

/// How much text of a whole message is kept, so that it can be repeated after pieces have interrupted it.
const MAX_KEPT_MESSAGE_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct MessageNumbering {
    last_number: u64,
    current: CurrentMessage,
    has_pieces: bool,
}

#[derive(Debug, Default)]
enum CurrentMessage {
    #[default]
    Empty,
    /// A message that arrives in pieces. `interrupted` is the whole message before the pieces.
    Pieces {
        number: u64,
        interrupted: Option<WholeMessage>,
    },
    Whole(WholeMessage),
}

#[derive(Debug)]
struct WholeMessage {
    id: Option<String>,
    number: u64,
    /// The text so far. Kept only if the agent also sends pieces.
    text: String,
}

impl CurrentMessage {
    /// Returns the id of the message that further text can continue.
    fn continuable_id(&self) -> Option<&String> {
        match self {
            Self::Whole(whole) | Self::Pieces { interrupted: Some(whole), .. } => whole.id.as_ref(),
            Self::Pieces { interrupted: None, .. } | Self::Empty => None,
        }
    }
}

impl MessageNumbering {
    /// Returns the event for text of the message with this id. Text without an id is a separate message. White space
    /// alone does not start a message, so that the previous message remains the last one.
    pub(crate) fn number_whole_message(&mut self, id: Option<String>, text: String) -> Option<AgentEvent> {
        let is_continuation = id.is_some() && self.current.continuable_id() == id.as_ref();
        if !is_continuation && text.trim().is_empty() {
            return None;
        }
        Some(self.number_text(id, text))
    }

    fn number_text(&mut self, id: Option<String>, text: String) -> AgentEvent {
        match std::mem::take(&mut self.current) {
            CurrentMessage::Whole(whole) if id.is_some() && whole.id == id => self.record_text(whole, text),
            CurrentMessage::Pieces { interrupted: Some(whole), .. } if id.is_some() && whole.id == id => {
                let number = self.next_number();
                let text = whole.text + &text;
                self.record_text(WholeMessage { id, number, text: String::new() }, text)
            }
            CurrentMessage::Whole(_) | CurrentMessage::Pieces { .. } | CurrentMessage::Empty => {
                let number = self.next_number();
                self.record_text(WholeMessage { id, number, text: String::new() }, text)
            }
        }
    }

    /// Returns the event for the next piece of a message.
    pub(crate) fn number_piece(&mut self, text: String) -> AgentEvent {
        self.has_pieces = true;
        let (number, interrupted) = match std::mem::take(&mut self.current) {
            CurrentMessage::Pieces { number, interrupted } => (number, interrupted),
            CurrentMessage::Whole(whole) => (self.next_number(), Some(whole)),
            CurrentMessage::Empty => (self.next_number(), None),
        };
        self.current = CurrentMessage::Pieces { number, interrupted };
        AgentEvent::Text { message: number, text }
    }

    /// Ends the current message: later pieces belong to a new one.
    pub(crate) fn end_message(&mut self) {
        self.current = CurrentMessage::Empty;
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn record_text(&mut self, mut whole: WholeMessage, text: String) -> AgentEvent {
        if self.has_pieces && whole.text.len() + text.len() <= MAX_KEPT_MESSAGE_BYTES {
            whole.text.push_str(&text);
        }
        let message = whole.number;
        self.current = CurrentMessage::Whole(whole);
        AgentEvent::Text { message, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_event(message: u64, text: &str) -> Option<AgentEvent> {
        Some(AgentEvent::Text { message, text: text.to_owned() })
    }

    fn message_id(id: &str) -> Option<String> {
        Some(id.to_owned())
    }

    #[test] // spec: S4
    fn blocks_of_one_message_share_its_number() {
        let mut numbering = MessageNumbering::default();
        assert_eq!(numbering.number_whole_message(message_id("a"), "one".into()), text_event(1, "one"));
        assert_eq!(numbering.number_whole_message(message_id("a"), "two".into()), text_event(1, "two"));
        assert_eq!(numbering.number_whole_message(message_id("b"), "three".into()), text_event(2, "three"));
        assert_eq!(numbering.number_whole_message(None, "four".into()), text_event(3, "four"));
        assert_eq!(numbering.number_whole_message(None, "five".into()), text_event(4, "five"));
    }

    #[test] // spec: S4
    fn a_message_that_comes_in_pieces_and_then_whole_is_complete_under_the_last_number() {
        let mut numbering = MessageNumbering::default();
        assert_eq!(Some(numbering.number_piece("on".into())), text_event(1, "on"));
        assert_eq!(Some(numbering.number_piece("e".into())), text_event(1, "e"));
        assert_eq!(numbering.number_whole_message(message_id("a"), "one ".into()), text_event(2, "one "));
        assert_eq!(Some(numbering.number_piece("two".into())), text_event(3, "two"));
        assert_eq!(numbering.number_whole_message(message_id("a"), "two".into()), text_event(4, "one two"));
    }

    #[test] // spec: S4
    fn an_ended_message_is_followed_by_a_new_number() {
        let mut numbering = MessageNumbering::default();
        assert_eq!(Some(numbering.number_piece("one".into())), text_event(1, "one"));
        numbering.end_message();
        assert_eq!(Some(numbering.number_piece("two".into())), text_event(2, "two"));
    }

    #[test] // spec: S4
    fn white_space_alone_is_not_a_message_but_may_be_part_of_one() {
        let mut numbering = MessageNumbering::default();
        assert_eq!(numbering.number_whole_message(message_id("a"), "one".into()), text_event(1, "one"));
        assert_eq!(numbering.number_whole_message(message_id("a"), "\n\n".into()), text_event(1, "\n\n"));
        assert_eq!(numbering.number_whole_message(message_id("b"), "\n".into()), None);
        assert_eq!(numbering.number_whole_message(None, String::new()), None);
        assert_eq!(numbering.number_whole_message(message_id("a"), "two".into()), text_event(1, "two"));
    }
}
