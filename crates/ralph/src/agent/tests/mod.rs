//! Whole streams through every parser: the labelled outputs, the recordings, and arbitrary bytes.
mod chunks;
mod claims;
mod recordings;

use super::{AgentEvent, Counts, Format, parser};

pub(super) fn read(format: Format, chunks: &[&[u8]]) -> (Vec<AgentEvent>, Counts) {
    let (mut parser, mut out) = (parser(format), Vec::new());
    for chunk in chunks {
        parser.push(chunk, &mut out);
    }
    parser.finish(&mut out);
    (out, parser.counts())
}

pub(super) fn events(format: Format, stream: &str) -> Vec<AgentEvent> {
    read(format, &[stream.as_bytes()]).0
}

/// The last message of the last turn, unless an error ended it. A sketch of what the loop makes of events.
pub(super) fn final_text(events: &[AgentEvent]) -> String {
    let (mut current, mut said) = (0, String::new());
    for event in events {
        match event {
            AgentEvent::Text { message, text } => {
                if *message != current {
                    said.clear();
                }
                current = *message;
                said.push_str(text);
            }
            AgentEvent::Prompted | AgentEvent::Error { fatal: true, .. } => said.clear(),
            AgentEvent::Error { fatal: false, .. }
            | AgentEvent::Started { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Finished { .. } => {}
        }
    }
    said
}
