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
