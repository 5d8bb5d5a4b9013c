//! Numbers the agent's messages. Some agents send a message twice, first in pieces, then whole; each form
//! gets its own number, so that no sentence counts as said twice in one message.
use super::event::AgentEvent;

/// How much of a message that also came in pieces is kept to repeat it whole.
const KEPT: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Voice {
    last: u64,
    current: Current,
    streams: bool,
}

#[derive(Debug, Default)]
enum Current {
    #[default]
    Nothing,
    /// A message arrives in pieces. `behind` is the whole message that the pieces interrupted.
    Pieces {
        number: u64,
        behind: Option<Spoken>,
    },
    Whole(Spoken),
}

#[derive(Debug)]
struct Spoken {
    id: Option<String>,
    number: u64,
    /// What was said so far; kept only where messages also come in pieces.
    text: String,
}

impl Current {
    /// Returns the id of the message that a further text may continue.
    fn id(&self) -> Option<&String> {
        match self {
            Self::Whole(spoken) | Self::Pieces { behind: Some(spoken), .. } => spoken.id.as_ref(),
            Self::Pieces { behind: None, .. } | Self::Nothing => None,
        }
    }
}

impl Voice {
    /// Says a text that belongs to the message of that id. Without an id it is a message of its own; but white
    /// space alone is none, and what was said before stays the last word.
    pub(super) fn whole(&mut self, id: Option<String>, text: String) -> Option<AgentEvent> {
        let goes_on = id.is_some() && self.current.id() == id.as_ref();
        if !goes_on && text.trim().is_empty() {
            return None;
        }
        Some(self.say(id, text))
    }

    fn say(&mut self, id: Option<String>, text: String) -> AgentEvent {
        match std::mem::take(&mut self.current) {
            Current::Whole(spoken) if id.is_some() && spoken.id == id => self.remember(spoken, text),
            Current::Pieces { behind: Some(spoken), .. } if id.is_some() && spoken.id == id => {
                let number = self.next();
                let text = spoken.text + &text;
                self.remember(Spoken { id, number, text: String::new() }, text)
            }
            Current::Whole(_) | Current::Pieces { .. } | Current::Nothing => {
                let number = self.next();
                self.remember(Spoken { id, number, text: String::new() }, text)
            }
        }
    }

    /// Says the next piece of a message.
    pub(super) fn piece(&mut self, text: String) -> AgentEvent {
        self.streams = true;
        let (number, behind) = match std::mem::take(&mut self.current) {
            Current::Pieces { number, behind } => (number, behind),
            Current::Whole(spoken) => (self.next(), Some(spoken)),
            Current::Nothing => (self.next(), None),
        };
        self.current = Current::Pieces { number, behind };
        AgentEvent::Text { message: number, text }
    }

    /// Ends the message that is being said.
    pub(super) fn pause(&mut self) {
        self.current = Current::Nothing;
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn remember(&mut self, mut spoken: Spoken, text: String) -> AgentEvent {
        if self.streams && spoken.text.len() + text.len() <= KEPT {
            spoken.text.push_str(&text);
        }
        let message = spoken.number;
        self.current = Current::Whole(spoken);
        AgentEvent::Text { message, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(message: u64, text: &str) -> Option<AgentEvent> {
        Some(AgentEvent::Text { message, text: text.to_owned() })
    }

    fn id(id: &str) -> Option<String> {
        Some(id.to_owned())
    }

    #[test] // spec: S4
    fn blocks_of_one_message_share_its_number() {
        let mut voice = Voice::default();
        assert_eq!(voice.whole(id("a"), "one".into()), text(1, "one"));
        assert_eq!(voice.whole(id("a"), "two".into()), text(1, "two"));
        assert_eq!(voice.whole(id("b"), "three".into()), text(2, "three"));
        assert_eq!(voice.whole(None, "four".into()), text(3, "four"));
        assert_eq!(voice.whole(None, "five".into()), text(4, "five"));
    }

    #[test] // spec: S4
    fn a_message_that_comes_in_pieces_and_then_whole_is_complete_under_the_last_number() {
        let mut voice = Voice::default();
        assert_eq!(Some(voice.piece("on".into())), text(1, "on"));
        assert_eq!(Some(voice.piece("e".into())), text(1, "e"));
        assert_eq!(voice.whole(id("a"), "one ".into()), text(2, "one "));
        assert_eq!(Some(voice.piece("two".into())), text(3, "two"));
        assert_eq!(voice.whole(id("a"), "two".into()), text(4, "one two"));
    }

    #[test] // spec: S4
    fn a_pause_parts_two_messages() {
        let mut voice = Voice::default();
        assert_eq!(Some(voice.piece("one".into())), text(1, "one"));
        voice.pause();
        assert_eq!(Some(voice.piece("two".into())), text(2, "two"));
    }

    #[test] // spec: S4
    fn white_space_is_no_message_but_may_stand_inside_one() {
        let mut voice = Voice::default();
        assert_eq!(voice.whole(id("a"), "one".into()), text(1, "one"));
        assert_eq!(voice.whole(id("a"), "\n\n".into()), text(1, "\n\n"));
        assert_eq!(voice.whole(id("b"), "\n".into()), None);
        assert_eq!(voice.whole(None, String::new()), None);
        assert_eq!(voice.whole(id("a"), "two".into()), text(1, "two"));
    }
}
