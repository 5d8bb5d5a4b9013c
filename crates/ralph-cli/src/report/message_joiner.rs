//! Joins the chunks of a streamed message to whole lines, because a chunk may end in the middle of a word. It prints nothing.
use ralph_agents::AgentEvent;

/// A longer line of the agent is printed before its end.
const MAX_OPEN_LINE_BYTES: usize = 16 * 1024;

/// Keeps the beginning of a line until its end has been streamed.
#[derive(Default)]
pub(super) struct MessageJoiner {
    open_line: Option<OpenLine>,
}

/// The beginning of a line of a message.
struct OpenLine {
    message: u64,
    text: String,
}

impl OpenLine {
    fn into_event(self) -> AgentEvent {
        AgentEvent::Text { message: self.message, text: self.text }
    }
}

impl MessageJoiner {
    /// Adds a chunk of a message, and returns the texts that are complete.
    pub(super) fn add_chunk(&mut self, message: u64, text: &str) -> Vec<AgentEvent> {
        let of_earlier_message = self.open_line.take_if(|open| open.message != message);
        let begun = self.open_line.take().map(|open| open.text).unwrap_or_default();
        let joined = format!("{begun}{text}");
        // Complete lines keep their line break, so that an empty line is printed too.
        let (complete, rest) = joined.split_at(joined.rfind('\n').map_or(0, |position| position + 1));
        let (long, open) = if rest.len() > MAX_OPEN_LINE_BYTES { (rest, "") } else { ("", rest) };
        let to_line = |text: &str| (!text.is_empty()).then(|| OpenLine { message, text: text.to_owned() });
        self.open_line = to_line(open);
        let complete = of_earlier_message.into_iter().chain(to_line(complete)).chain(to_line(long));
        complete.map(OpenLine::into_event).collect()
    }

    /// Returns the line that has no end yet: its message has ended, or something else follows.
    pub(super) fn take_open_line(&mut self) -> Option<AgentEvent> {
        self.open_line.take().map(OpenLine::into_event)
    }
}
