//! Parses a recorded output with the same parsers and claim finder that are used for a running agent.
use std::io::{self, Read};
use std::ops::ControlFlow;

use ralph_core::claim::{ClaimFinder, ClaimReading, ClaimRules};

use crate::{AgentEvent, OutputFormat, RecordCounts, feed_claim_finder, parser_for_format};

const READ_BUFFER_BYTES: usize = 256 * 1024;

/// Reads an agent's output to its end and returns its claim.
pub fn read_output_claim(
    format: OutputFormat,
    rules: ClaimRules,
    prompt: &str,
    output: &mut dyn Read,
) -> io::Result<ClaimReading> {
    let mut finder = ClaimFinder::new(rules, prompt);
    read_events(format, output, &mut |events| {
        events.iter().for_each(|event| feed_claim_finder(&mut finder, event));
        ControlFlow::Continue(())
    })?;
    Ok(finder.finish())
}

/// Reads an agent's output and passes its events to `sink` chunk by chunk, until the output ends or `sink` breaks.
pub fn read_events(
    format: OutputFormat,
    output: &mut dyn Read,
    sink: &mut dyn FnMut(&[AgentEvent]) -> ControlFlow<()>,
) -> io::Result<RecordCounts> {
    let mut parser = parser_for_format(format);
    let mut events = Vec::new();
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    loop {
        let count = match output.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        match buffer.get(..count).filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => parser.push(bytes, &mut events),
            None => parser.finish(&mut events),
        }
        if sink(&events).is_break() || count == 0 {
            return Ok(parser.record_counts());
        }
        events.clear();
    }
}

/// Reads an agent's output to its end and returns its final message, all of it.
pub fn read_final_message(format: OutputFormat, output: &mut dyn Read) -> io::Result<String> {
    let mut last = FinalMessage::default();
    read_events(format, output, &mut |events| {
        events.iter().for_each(|event| last.absorb_event(event));
        ControlFlow::Continue(())
    })?;
    Ok(last.into_text())
}

/// Collects the text of the last message that is not blank.
#[derive(Debug, Default)]
struct FinalMessage {
    number: Option<u64>,
    text: String,
    /// The last complete message that is not blank.
    before: String,
}

impl FinalMessage {
    fn absorb_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { message, text } => {
                if self.number.replace(*message) != Some(*message) {
                    self.end_message();
                }
                self.text.push_str(text);
            }
            AgentEvent::Prompted => *self = Self::default(),
            AgentEvent::Started { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::PermissionDenied { .. }
            | AgentEvent::AtWork
            | AgentEvent::Unread
            | AgentEvent::Usage { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Error { .. }
            | AgentEvent::Finished { .. } => {}
        }
    }

    fn end_message(&mut self) {
        let ended = std::mem::take(&mut self.text);
        if !ended.trim().is_empty() {
            self.before = ended;
        }
    }

    fn into_text(mut self) -> String {
        self.end_message();
        self.before
    }
}

#[cfg(test)]
mod final_message_tests {
    use super::*;

    // spec: W3
    #[test]
    fn the_final_message_is_returned_whole_however_long_it_is() {
        let long = format!("first line\n{}\nlast line\n", "x".repeat(300_000));
        let read = read_final_message(OutputFormat::Text, &mut long.as_bytes()).unwrap();
        assert_eq!(read.trim_end(), long.trim_end());
    }

    // spec: W3
    #[test]
    fn a_blank_message_does_not_replace_the_one_before_it_and_a_prompt_starts_a_new_turn() {
        let text = |message, text: &str| AgentEvent::Text { message, text: text.to_owned() };
        let mut last = FinalMessage::default();
        for event in [text(1, "old"), AgentEvent::Prompted, text(2, "the "), text(2, "answer"), text(3, " \n")] {
            last.absorb_event(&event);
        }
        assert_eq!(last.into_text(), "the answer");
    }
}
