//! Numbers the agent's messages. Some agents send a message twice, first in pieces, then whole; each form
//! gets its own number, so that no sentence counts as said twice in one message.
use super::event::AgentEvent;

/// How much of a message that also came in pieces is kept to repeat it whole.
const MAX_KEPT_MESSAGE_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct MessageNumbering {
    last_number: u64,
    current: CurrentMessage,
    has_pieces: bool,
}

#[derive(Debug, Default)]
enum CurrentMessage {
    #[default]
    Empty,
    /// A message arrives in pieces. `behind` is the whole message that the pieces interrupted.
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
    /// What was said so far; kept only where messages also come in pieces.
    text: String,
}

impl CurrentMessage {
    /// Returns the id of the message that a further text may continue.
    fn continuable_id(&self) -> Option<&String> {
        match self {
            Self::Whole(spoken) | Self::Pieces { interrupted: Some(spoken), .. } => spoken.id.as_ref(),
            Self::Pieces { interrupted: None, .. } | Self::Empty => None,
        }
    }
}

impl MessageNumbering {
    /// Says a text that belongs to the message of that id. Without an id it is a message of its own; but white
    /// space alone is none, and what was said before stays the last word.
    pub(super) fn number_whole_message(&mut self, id: Option<String>, text: String) -> Option<AgentEvent> {
        let goes_on = id.is_some() && self.current.continuable_id() == id.as_ref();
        if !goes_on && text.trim().is_empty() {
            return None;
        }
        Some(self.number_text(id, text))
    }

    fn number_text(&mut self, id: Option<String>, text: String) -> AgentEvent {
        match std::mem::take(&mut self.current) {
            CurrentMessage::Whole(spoken) if id.is_some() && spoken.id == id => self.record_text(spoken, text),
            CurrentMessage::Pieces { interrupted: Some(spoken), .. } if id.is_some() && spoken.id == id => {
                let number = self.next_number();
                let text = spoken.text + &text;
                self.record_text(WholeMessage { id, number, text: String::new() }, text)
            }
            CurrentMessage::Whole(_) | CurrentMessage::Pieces { .. } | CurrentMessage::Empty => {
                let number = self.next_number();
                self.record_text(WholeMessage { id, number, text: String::new() }, text)
            }
        }
    }

    /// Says the next piece of a message.
    pub(super) fn number_piece(&mut self, text: String) -> AgentEvent {
        self.has_pieces = true;
        let (number, behind) = match std::mem::take(&mut self.current) {
            CurrentMessage::Pieces { number, interrupted: behind } => (number, behind),
            CurrentMessage::Whole(spoken) => (self.next_number(), Some(spoken)),
            CurrentMessage::Empty => (self.next_number(), None),
        };
        self.current = CurrentMessage::Pieces { number, interrupted: behind };
        AgentEvent::Text { message: number, text }
    }

    /// Ends the message that is being said.
    pub(super) fn end_message(&mut self) {
        self.current = CurrentMessage::Empty;
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn record_text(&mut self, mut spoken: WholeMessage, text: String) -> AgentEvent {
        if self.has_pieces && spoken.text.len() + text.len() <= MAX_KEPT_MESSAGE_BYTES {
            spoken.text.push_str(&text);
        }
        let message = spoken.number;
        self.current = CurrentMessage::Whole(spoken);
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
        let mut voice = MessageNumbering::default();
        assert_eq!(voice.number_whole_message(message_id("a"), "one".into()), text_event(1, "one"));
        assert_eq!(voice.number_whole_message(message_id("a"), "two".into()), text_event(1, "two"));
        assert_eq!(voice.number_whole_message(message_id("b"), "three".into()), text_event(2, "three"));
        assert_eq!(voice.number_whole_message(None, "four".into()), text_event(3, "four"));
        assert_eq!(voice.number_whole_message(None, "five".into()), text_event(4, "five"));
    }

    #[test] // spec: S4
    fn a_message_that_comes_in_pieces_and_then_whole_is_complete_under_the_last_number() {
        let mut voice = MessageNumbering::default();
        assert_eq!(Some(voice.number_piece("on".into())), text_event(1, "on"));
        assert_eq!(Some(voice.number_piece("e".into())), text_event(1, "e"));
        assert_eq!(voice.number_whole_message(message_id("a"), "one ".into()), text_event(2, "one "));
        assert_eq!(Some(voice.number_piece("two".into())), text_event(3, "two"));
        assert_eq!(voice.number_whole_message(message_id("a"), "two".into()), text_event(4, "one two"));
    }

    #[test] // spec: S4
    fn an_ended_message_is_followed_by_a_new_number() {
        let mut voice = MessageNumbering::default();
        assert_eq!(Some(voice.number_piece("one".into())), text_event(1, "one"));
        voice.end_message();
        assert_eq!(Some(voice.number_piece("two".into())), text_event(2, "two"));
    }

    #[test] // spec: S4
    fn white_space_alone_is_not_a_message_but_may_be_part_of_one() {
        let mut voice = MessageNumbering::default();
        assert_eq!(voice.number_whole_message(message_id("a"), "one".into()), text_event(1, "one"));
        assert_eq!(voice.number_whole_message(message_id("a"), "\n\n".into()), text_event(1, "\n\n"));
        assert_eq!(voice.number_whole_message(message_id("b"), "\n".into()), None);
        assert_eq!(voice.number_whole_message(None, String::new()), None);
        assert_eq!(voice.number_whole_message(message_id("a"), "two".into()), text_event(1, "two"));
    }
}
