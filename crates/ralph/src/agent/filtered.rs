//! A parser whose idea of the agent's own text is the user's: what the response filter yields, and no other.
use super::event::AgentEvent;
use super::filter::Filter;
use super::lines::{Line, Lines};
use super::parser::{Counts, Parser};

/// Wraps another parser and replaces its text. Each value of the filter is a message of its own, so the last
/// value is the final message.
pub struct FilteredParser {
    inner: Box<dyn Parser>,
    filter: Filter,
    lines: Lines,
    cut: u64,
    messages: u64,
}

impl FilteredParser {
    pub fn new(inner: Box<dyn Parser>, filter: Filter) -> Self {
        Self { inner, filter, lines: Lines::default(), cut: 0, messages: 0 }
    }

    fn read(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        for text in self.filter.apply(line) {
            self.messages += 1;
            out.push(AgentEvent::Text { message: self.messages, text });
        }
        // What the record reports comes behind its words: an error or the end must not look outdated.
        let mut events = Vec::new();
        self.inner.push(line, &mut events);
        self.inner.push(b"\n", &mut events);
        out.extend(events.into_iter().filter(is_no_text));
    }

    fn read_all(&mut self, lines: Vec<Option<Vec<u8>>>, out: &mut Vec<AgentEvent>) {
        for line in lines {
            match line {
                Some(line) => self.read(&line, out),
                None => self.cut += 1,
            }
        }
    }
}

impl Parser for FilteredParser {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        let mut lines = Vec::new();
        self.lines.push(bytes, &mut |line| lines.push(kept(line)));
        self.read_all(lines, out);
    }

    fn finish(&mut self, out: &mut Vec<AgentEvent>) {
        let mut lines = Vec::new();
        self.lines.finish(&mut |line| lines.push(kept(line)));
        self.read_all(lines, out);
        let mut events = Vec::new();
        self.inner.finish(&mut events);
        out.extend(events.into_iter().filter(is_no_text));
    }

    fn unwatched(&mut self) {
        self.inner.unwatched();
    }

    fn counts(&self) -> Counts {
        let inner = self.inner.counts();
        Counts { cut: inner.cut + self.cut, ..inner }
    }
}

/// The filter decodes every line anyway, so the copy does not matter here.
fn kept(line: Line<'_>) -> Option<Vec<u8>> {
    match line {
        Line::Whole(bytes) => Some(bytes.to_vec()),
        Line::Cut => None,
    }
}

fn is_no_text(event: &AgentEvent) -> bool {
    !matches!(event, AgentEvent::Text { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Format, parser};

    fn read(format: Format, filter: &str, stream: &str) -> (Vec<AgentEvent>, Counts) {
        let mut parser = FilteredParser::new(parser(format), Filter::compile(filter).unwrap());
        let mut out = Vec::new();
        for chunk in stream.as_bytes().chunks(7) {
            parser.push(chunk, &mut out);
        }
        parser.finish(&mut out);
        (out, parser.counts())
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
}
