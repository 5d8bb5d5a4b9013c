//! The child-process side of a filter: reads lines and answers each with one line of JSON, which is empty if the filter
//! yields nothing.
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use crate::filter::jq_filter::{FilterOutput, JqFilter};

const INPUT_BUFFER_BYTES: usize = 256 * 1024;
const OUTPUT_BUFFER_BYTES: usize = 64 * 1024;

/// Answers every line of `input` until it ends.
pub fn serve_filter(filter: &JqFilter, input: impl Read, output: impl Write) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(INPUT_BUFFER_BYTES, input);
    let mut answers = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, output);
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return answers.flush();
        }
        let answer = filter.apply_to_line(&line);
        let has_output = !answer.is_empty();
        answers.write_all(answer.encode_line().as_bytes())?;
        answers.write_all(b"\n")?;
        // The filter may hang on the next line, so flush the answers before it.
        if has_output || !lines.buffer().contains(&b'\n') {
            answers.flush()?;
        }
    }
}

impl FilterOutput {
    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.error.is_none()
    }

    fn encode_line(&self) -> String {
        if self.is_empty() { String::new() } else { serde_json::to_string(self).unwrap_or_default() }
    }

    /// Parses an answer. Returns `None` if it is malformed.
    pub fn decode_line(line: &[u8]) -> Option<Self> {
        if line.is_empty() { Some(Self::default()) } else { serde_json::from_slice(line).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A2
    #[test]
    fn every_line_is_answered_in_order() {
        let filter = JqFilter::compile(".a.b").unwrap();
        let mut answers = Vec::new();
        serve_filter(&filter, &b"{\"a\":{\"b\":\"x\\ny\"}}\nnoise\n{\"a\":7}\n{}"[..], &mut answers).unwrap();
        let read: Vec<FilterOutput> = answers
            .split(|byte| *byte == b'\n')
            .take(4)
            .map(|line| FilterOutput::decode_line(line).expect("an answer"))
            .collect();
        assert_eq!(read[0], FilterOutput { values: vec!["x\ny".into()], error: None });
        assert_eq!(read[1], FilterOutput::default());
        assert!(read[2].error.as_deref().is_some_and(|error| error.contains("cannot index")), "{:?}", read[2]);
        assert_eq!(read[3], FilterOutput::default());
    }
}
