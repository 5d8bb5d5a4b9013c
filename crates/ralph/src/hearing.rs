//! Reads a whole recorded output: the same parsers and the same claim finder that listen to a running agent.
use std::io::{self, Read};

use ralph_core::claim::{ClaimRules, Finder, Heard, Reading};

use crate::agent::{AgentEvent, Format, parser};

const PIECE: usize = 256 * 1024;

/// Reads an agent's output to its end and says what it claims.
pub fn read_output(
    format: Format,
    rules: ClaimRules,
    prompt: &str,
    output: &mut dyn Read,
) -> io::Result<Reading> {
    let mut finder = Finder::new(rules, prompt);
    let mut parser = parser(format);
    let mut events = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let count = output.read(&mut piece)?;
        match piece.get(..count).filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => parser.push(bytes, &mut events),
            None => parser.finish(&mut events),
        }
        events.drain(..).for_each(|event| hear(&mut finder, &event));
        if count == 0 {
            return Ok(finder.finish());
        }
    }
}

/// Passes on what matters for claims.
pub fn hear(finder: &mut Finder, event: &AgentEvent) {
    match event {
        AgentEvent::Text { message, text } => finder.hear(Heard::Own { message: *message, text }),
        AgentEvent::Prompted => finder.hear(Heard::Prompted),
        AgentEvent::Error { fatal: true, .. } => finder.hear(Heard::Failed),
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
