//! Recognises the sections of a transcript that Codex prints without `--json`: a header, the prompt, reasoning, commands
//! with their output, messages, a footer with the tokens used, and the final message again. Only messages are the
//! agent's own words.

/// A longer line is never a section mark.
const MAX_MARK_BYTES: usize = 64;
const HEADER_PREFIX: &str = "OpenAI Codex v";
const MESSAGE_MARK: &str = "codex";
const OTHER_MARKS: &[&str] =
    &["user", "User instructions:", "exec", "thinking", "tool", "mcp", "file update", "web search"];
const FOOTER_MARK: &str = "tokens used";

/// The section that starts after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectionStart {
    /// A message of the agent.
    Message,
    /// The prompt, reasoning, or a command and its output.
    Other,
}

/// Reads a text line by line; lines may arrive in pieces.
#[derive(Debug, Default)]
pub(crate) struct TranscriptSections {
    /// The start of the current line, as long as it may be a mark.
    line: String,
    is_long_line: bool,
    has_header: bool,
    is_after_footer_mark: bool,
}

impl TranscriptSections {
    /// Reads text without a line break.
    pub(crate) fn push_line_part(&mut self, part: &str) {
        if self.is_long_line || self.line.len() + part.len() > MAX_MARK_BYTES {
            self.is_long_line = true;
            self.line.clear();
        } else {
            self.line.push_str(part);
        }
    }

    /// Ends the current line and returns the section that starts after it.
    pub(crate) fn end_line(&mut self) -> Option<SectionStart> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_long_line) {
            self.is_after_footer_mark = false;
            return None;
        }
        let line = without_time(line.trim_end());
        let is_count = !line.is_empty() && line.chars().all(|c| c.is_ascii_digit() || ",._ ".contains(c));
        if std::mem::take(&mut self.is_after_footer_mark) && is_count {
            return Some(SectionStart::Message);
        }
        self.is_after_footer_mark = line == FOOTER_MARK;
        if line.strip_prefix(FOOTER_MARK).is_some_and(|rest| rest.starts_with(": ")) {
            return Some(SectionStart::Message);
        }
        if line.starts_with(HEADER_PREFIX) {
            self.has_header = true;
            return Some(SectionStart::Other);
        }
        match line {
            _ if !self.has_header => None,
            MESSAGE_MARK => Some(SectionStart::Message),
            _ if OTHER_MARKS.contains(&line) => Some(SectionStart::Other),
            _ => None,
        }
    }
}

/// Removes the time that older versions print before a mark, as in "[2025-09-01T10:00:00] codex".
fn without_time(line: &str) -> &str {
    let inner = line.strip_prefix("[20").and_then(|rest| rest.split_once("] "));
    inner.map_or(line, |(_, mark)| mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section_starts(text: &str) -> Vec<(String, SectionStart)> {
        let mut sections = TranscriptSections::default();
        let mut found = Vec::new();
        for line in text.lines() {
            sections.push_line_part(line);
            found.extend(sections.end_line().map(|start| (line.to_owned(), start)));
        }
        found
    }

    // spec: S2
    // finding: N27
    #[test]
    fn the_marks_of_a_transcript_start_sections() {
        let text = "OpenAI Codex v0.99.0\n--------\nuser\nDo it.\nthinking\nHm.\nexec\nls\ncodex\nDone.\ntokens used\n1,234\nDone.";
        let starts: Vec<SectionStart> = section_starts(text).into_iter().map(|(_, start)| start).collect();
        use SectionStart::{Message, Other};
        assert_eq!(starts, [Other, Other, Other, Other, Message, Message]);
    }

    // finding: N27
    #[test]
    fn words_of_another_program_are_not_marks() {
        assert_eq!(section_starts("codex\nuser\nexec\ntokens used\nmany\n"), []);
        let old = "[2025-09-01T10:00:00] tokens used: 1234";
        assert_eq!(section_starts(old), [(old.to_owned(), SectionStart::Message)]);
    }
}
