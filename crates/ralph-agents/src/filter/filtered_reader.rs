//! Reads an agent's output when a response filter is configured: only the values that the filter yields are agent text.
//! The filter runs in another process and answers later, so each line is queued until its answer arrives.
use std::collections::VecDeque;

use crate::stream::event::AgentEvent;
use crate::stream::line_splitter::{LineSplitter, SplitLine};
use crate::stream::parser::{RecordCounts, StreamParser};

/// Memory overhead of a waiting line in addition to its bytes.
const LINE_OVERHEAD_BYTES: usize = 64;

/// Wraps another parser and replaces its text. Each value of the filter is a separate message, so the last value is the
/// final message.
pub struct FilteredReader {
    inner: Box<dyn StreamParser>,
    splitter: LineSplitter,
    oversized_lines: u64,
    message_count: u64,
    waiting_lines: VecDeque<WaitingLine>,
    waiting_bytes: usize,
    /// Events that precede the next answer.
    queued_events: Vec<AgentEvent>,
}

/// A line whose answer is pending. Its other events are emitted after its text, because text would clear an error or
/// reopen the attempt.
struct WaitingLine {
    bytes: usize,
    events: Vec<AgentEvent>,
}

impl FilteredReader {
    pub fn new(inner: Box<dyn StreamParser>) -> Self {
        let waiting_lines = VecDeque::new();
        Self {
            inner,
            splitter: LineSplitter::default(),
            oversized_lines: 0,
            message_count: 0,
            waiting_lines,
            waiting_bytes: 0,
            queued_events: Vec::new(),
        }
    }

    /// Reads the next bytes and returns the complete lines in them. The filter must answer each of these lines.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut forwarded = Vec::with_capacity(bytes.len());
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.push(bytes, &mut |line| self.queue_line(line, &mut forwarded));
        self.splitter = splitter;
        forwarded
    }

    /// Returns the rest of the output after it has ended.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut forwarded = Vec::new();
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.finish(&mut |line| self.queue_line(line, &mut forwarded));
        forwarded
    }

    fn queue_line(&mut self, line: SplitLine<'_>, forwarded: &mut Vec<u8>) {
        let line = match line {
            SplitLine::Whole(line) => line,
            SplitLine::Cut { .. } => {
                self.oversized_lines += 1;
                return self.queue_event(AgentEvent::Unread);
            }
        };
        forwarded.extend_from_slice(line);
        forwarded.push(b'\n');
        let mut events = Vec::new();
        self.inner.push(line, &mut events);
        self.inner.push(b"\n", &mut events);
        events.retain(is_not_text);
        let bytes = line.len() + LINE_OVERHEAD_BYTES;
        self.waiting_bytes += bytes;
        self.waiting_lines.push_back(WaitingLine { bytes, events });
    }

    /// Queues an event after the lines that wait and before later lines.
    fn queue_event(&mut self, event: AgentEvent) {
        match self.waiting_lines.back_mut() {
            Some(line) => line.events.push(event),
            None => self.queued_events.push(event),
        }
    }

    /// Accepts the filter's answer for the oldest waiting line.
    pub fn accept_answer(&mut self, values: Vec<String>, out: &mut Vec<AgentEvent>) {
        out.append(&mut self.queued_events);
        for text in values {
            self.message_count += 1;
            out.push(AgentEvent::Text { message: self.message_count, text });
        }
        self.release_line(out);
    }

    fn release_line(&mut self, out: &mut Vec<AgentEvent>) {
        if let Some(line) = self.waiting_lines.pop_front() {
            self.waiting_bytes -= line.bytes;
            out.extend(line.events);
        }
    }

    /// Emits the events of all waiting lines without their text, after the filter has failed.
    pub fn release_all(&mut self, out: &mut Vec<AgentEvent>) {
        out.append(&mut self.queued_events);
        while !self.waiting_lines.is_empty() {
            self.release_line(out);
        }
    }

    /// Finishes the wrapped parser. Every line must have been answered or released before.
    pub fn finish_format(&mut self, out: &mut Vec<AgentEvent>) {
        let mut events = Vec::new();
        self.inner.finish(&mut events);
        out.extend(events.into_iter().filter(is_not_text));
    }

    /// Returns the parser of the agent's format, for example to exchange messages with the agent.
    pub fn inner_parser(&mut self) -> &mut dyn StreamParser {
        self.inner.as_mut()
    }

    /// See [`StreamParser::is_conversation_over`].
    pub fn is_conversation_over(&self) -> bool {
        self.inner.is_conversation_over()
    }

    /// Returns the approximate memory use of the waiting lines.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting_lines.is_empty()
    }

    pub fn record_counts(&self) -> RecordCounts {
        let inner = self.inner.record_counts();
        RecordCounts { oversized: inner.oversized + self.oversized_lines, ..inner }
    }
}

fn is_not_text(event: &AgentEvent) -> bool {
    !matches!(event, AgentEvent::Text { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JqFilter, OutputFormat, parser_for_format};

    fn read_filtered(format: OutputFormat, filter: &str, stream: &str) -> (Vec<AgentEvent>, RecordCounts) {
        let filter = JqFilter::compile(filter).unwrap();
        let mut reader = FilteredReader::new(parser_for_format(format));
        let mut forwarded: Vec<u8> = stream.as_bytes().chunks(7).flat_map(|chunk| reader.push(chunk)).collect();
        forwarded.extend(reader.finish());
        let mut out = Vec::new();
        for line in forwarded.split_inclusive(|byte| *byte == b'\n') {
            reader.accept_answer(filter.apply_to_line(line).values, &mut out);
        }
        assert!(!reader.is_waiting());
        assert_eq!(reader.waiting_bytes(), 0);
        reader.finish_format(&mut out);
        (out, reader.record_counts())
    }

    fn text_event(message: u64, text: &str) -> AgentEvent {
        AgentEvent::Text { message, text: text.into() }
    }

    #[test] // spec: A2
    fn each_value_of_the_filter_is_a_separate_message() {
        let stream = "{\"say\":[\"one\",\"two\"]}\nnoise\n{\"say\":[\"three\"]}";
        let (events, _) = read_filtered(OutputFormat::Text, ".say[]", stream);
        assert_eq!(events, [text_event(1, "one"), text_event(2, "two"), text_event(3, "three")]);
    }

    #[test] // spec: A2, A5
    fn the_text_of_the_format_is_replaced_and_other_events_are_kept() {
        let stream = concat!(
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"<promise>X</promise>"}]}}"#,
            "\n",
            r#"{"type":"result","is_error":false,"result":"<promise>X</promise>","note":"mine"}"#,
        );
        let (events, counts) = read_filtered(OutputFormat::Claude, "select(.note) | .note", stream);
        assert_eq!(events, [text_event(1, "mine"), AgentEvent::Finished { ok: true }]);
        assert_eq!(counts.recognised, 2);
    }

    #[test] // spec: A2, S4
    fn an_error_follows_the_text_of_its_record() {
        let stream = r#"{"type":"result","is_error":true,"result":"Invalid API key","api_error_status":401}"#;
        let (events, _) = read_filtered(OutputFormat::Claude, ".result", stream);
        assert_eq!(events.first(), Some(&text_event(1, "Invalid API key")));
        assert!(events.iter().skip(1).any(|event| matches!(event, AgentEvent::Error { fatal: true, .. })));
    }

    #[test] // spec: A2
    fn unanswered_lines_keep_their_other_events() {
        let mut reader = FilteredReader::new(parser_for_format(OutputFormat::Claude));
        let forwarded = reader.push(b"{\"type\":\"result\",\"is_error\":false,\"result\":\"x\"}\n");
        assert!(!forwarded.is_empty() && reader.waiting_bytes() > forwarded.len());
        let mut out = Vec::new();
        reader.release_all(&mut out);
        assert_eq!(out, [AgentEvent::Finished { ok: true }]);
        assert!(!reader.is_waiting());
    }

    #[test] // spec: A2, S8
    fn an_oversized_line_keeps_its_position_between_texts() {
        let long = "x".repeat(crate::stream::line_splitter::MAX_LINE_BYTES + 1);
        let mut reader = FilteredReader::new(parser_for_format(OutputFormat::Text));
        let mut out = Vec::new();
        let forwarded = reader.push(format!("one\n{long}\ntwo\n").as_bytes());
        assert_eq!(forwarded, b"one\ntwo\n");
        reader.accept_answer(vec!["one".into()], &mut out);
        assert!(reader.push(format!("{long}\n").as_bytes()).is_empty());
        reader.accept_answer(vec!["two".into()], &mut out);
        assert_eq!(out, [text_event(1, "one"), AgentEvent::Unread, text_event(2, "two"), AgentEvent::Unread]);
        assert!(reader.push(format!("{long}\n").as_bytes()).is_empty());
        reader.release_all(&mut out);
        assert_eq!((out.len(), reader.record_counts().oversized), (5, 3));
    }
}
