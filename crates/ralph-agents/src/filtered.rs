//! Reads an agent's output when the user's response filter says what the agent's own text is: what the filter
//! yields, and no other. The filter itself runs elsewhere and answers later, so each line waits here for its answer.
use std::collections::VecDeque;

use super::event::AgentEvent;
use super::lines::{Line, Lines};
use super::parser::{Counts, Parser};

/// What a line that waits costs beside its bytes.
const OVERHEAD: usize = 64;

/// Wraps another parser and replaces its text. Each value of the filter is a message of its own, so the last
/// value is the final message.
pub struct FilteredReader {
    inner: Box<dyn Parser>,
    lines: Lines,
    cut: u64,
    messages: u64,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// What comes before the next answer.
    next: Vec<AgentEvent>,
}

/// A line whose answer has not come. What the record reports comes behind its words: an error or the end must not
/// look outdated.
struct Waiting {
    bytes: usize,
    reports: Vec<AgentEvent>,
}

impl FilteredReader {
    pub fn new(inner: Box<dyn Parser>) -> Self {
        let waiting = VecDeque::new();
        Self {
            inner,
            lines: Lines::default(),
            cut: 0,
            messages: 0,
            waiting,
            waiting_bytes: 0,
            next: Vec::new(),
        }
    }

    /// Reads the next bytes and returns the whole lines among them, which the filter must answer one by one.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut asked = Vec::with_capacity(bytes.len());
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes, &mut |line| self.ask(line, &mut asked));
        self.lines = lines;
        asked
    }

    /// Reads what is left when the output has ended.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut asked = Vec::new();
        let mut lines = std::mem::take(&mut self.lines);
        lines.finish(&mut |line| self.ask(line, &mut asked));
        asked
    }

    fn ask(&mut self, line: Line<'_>, asked: &mut Vec<u8>) {
        let line = match line {
            Line::Whole(line) => line,
            Line::Cut { .. } => {
                self.cut += 1;
                return self.tell_in_order(AgentEvent::Unread);
            }
        };
        asked.extend_from_slice(line);
        asked.push(b'\n');
        let mut reports = Vec::new();
        self.inner.push(line, &mut reports);
        self.inner.push(b"\n", &mut reports);
        reports.retain(is_no_text);
        let bytes = line.len() + OVERHEAD;
        self.waiting_bytes += bytes;
        self.waiting.push_back(Waiting { bytes, reports });
    }

    /// Tells something behind the lines that wait, and before those that come.
    fn tell_in_order(&mut self, event: AgentEvent) {
        match self.waiting.back_mut() {
            Some(line) => line.reports.push(event),
            None => self.next.push(event),
        }
    }

    /// Takes the filter's answer for the line that has waited longest.
    pub fn answered(&mut self, values: Vec<String>, out: &mut Vec<AgentEvent>) {
        out.append(&mut self.next);
        for text in values {
            self.messages += 1;
            out.push(AgentEvent::Text { message: self.messages, text });
        }
        self.release(out);
    }

    fn release(&mut self, out: &mut Vec<AgentEvent>) {
        if let Some(line) = self.waiting.pop_front() {
            self.waiting_bytes -= line.bytes;
            out.extend(line.reports);
        }
    }

    /// Goes on without answers.
    pub fn release_all(&mut self, out: &mut Vec<AgentEvent>) {
        out.append(&mut self.next);
        while !self.waiting.is_empty() {
            self.release(out);
        }
    }

    /// Reads what the format reports at its end; every line must have been answered or released.
    pub fn conclude(&mut self, out: &mut Vec<AgentEvent>) {
        let mut reports = Vec::new();
        self.inner.finish(&mut reports);
        out.extend(reports.into_iter().filter(is_no_text));
    }

    /// Returns the parser of the agent's format, which talks with the agent where that is one's way.
    pub fn inner(&mut self) -> &mut dyn Parser {
        self.inner.as_mut()
    }

    /// See [`Parser::is_over`].
    pub fn is_over(&self) -> bool {
        self.inner.is_over()
    }

    /// Returns how much memory the lines without an answer take, roughly.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub fn counts(&self) -> Counts {
        let inner = self.inner.counts();
        Counts { cut: inner.cut + self.cut, ..inner }
    }
}

fn is_no_text(event: &AgentEvent) -> bool {
    !matches!(event, AgentEvent::Text { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, Format, parser};

    fn read(format: Format, filter: &str, stream: &str) -> (Vec<AgentEvent>, Counts) {
        let filter = Filter::compile(filter).unwrap();
        let mut reader = FilteredReader::new(parser(format));
        let mut asked: Vec<u8> = stream.as_bytes().chunks(7).flat_map(|chunk| reader.push(chunk)).collect();
        asked.extend(reader.finish());
        let mut out = Vec::new();
        for line in asked.split_inclusive(|byte| *byte == b'\n') {
            reader.answered(filter.apply(line).values, &mut out);
        }
        assert!(!reader.is_waiting());
        assert_eq!(reader.waiting_bytes(), 0);
        reader.conclude(&mut out);
        (out, reader.counts())
    }

    fn text(message: u64, text: &str) -> AgentEvent {
        AgentEvent::Text { message, text: text.into() }
    }

    #[test] // spec: A2
    fn each_value_of_the_filter_is_a_message_of_its_own() {
        let stream = "{\"say\":[\"one\",\"two\"]}\nnoise\n{\"say\":[\"three\"]}";
        let (events, _) = read(Format::Text, ".say[]", stream);
        assert_eq!(events, [text(1, "one"), text(2, "two"), text(3, "three")]);
    }

    #[test] // spec: A2, A5
    fn the_format_s_own_text_is_replaced_and_all_else_is_kept() {
        let stream = concat!(
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"<promise>X</promise>"}]}}"#,
            "\n",
            r#"{"type":"result","is_error":false,"result":"<promise>X</promise>","note":"mine"}"#,
        );
        let (events, counts) = read(Format::Claude, "select(.note) | .note", stream);
        assert_eq!(events, [text(1, "mine"), AgentEvent::Finished { ok: true }]);
        assert_eq!(counts.recognised, 2);
    }

    #[test] // spec: A2, S4
    fn an_error_stands_behind_the_words_of_its_record() {
        let stream = r#"{"type":"result","is_error":true,"result":"Invalid API key","api_error_status":401}"#;
        let (events, _) = read(Format::Claude, ".result", stream);
        assert_eq!(events.first(), Some(&text(1, "Invalid API key")));
        assert!(events.iter().skip(1).any(|event| matches!(event, AgentEvent::Error { fatal: true, .. })));
    }

    #[test] // spec: A2
    fn lines_without_an_answer_keep_what_else_they_report() {
        let mut reader = FilteredReader::new(parser(Format::Claude));
        let asked = reader.push(b"{\"type\":\"result\",\"is_error\":false,\"result\":\"x\"}\n");
        assert!(!asked.is_empty() && reader.waiting_bytes() > asked.len());
        let mut out = Vec::new();
        reader.release_all(&mut out);
        assert_eq!(out, [AgentEvent::Finished { ok: true }]);
        assert!(!reader.is_waiting());
    }

    #[test] // spec: A2, S8
    fn a_line_that_was_not_read_stands_between_the_words_before_and_after_it() {
        let long = "x".repeat(crate::lines::LINE_LIMIT + 1);
        let mut reader = FilteredReader::new(parser(Format::Text));
        let mut out = Vec::new();
        let asked = reader.push(format!("one\n{long}\ntwo\n").as_bytes());
        assert_eq!(asked, b"one\ntwo\n");
        reader.answered(vec!["one".into()], &mut out);
        assert!(reader.push(format!("{long}\n").as_bytes()).is_empty());
        reader.answered(vec!["two".into()], &mut out);
        assert_eq!(out, [text(1, "one"), AgentEvent::Unread, text(2, "two"), AgentEvent::Unread]);
        assert!(reader.push(format!("{long}\n").as_bytes()).is_empty());
        reader.release_all(&mut out);
        assert_eq!((out.len(), reader.counts().cut), (5, 3));
    }
}
