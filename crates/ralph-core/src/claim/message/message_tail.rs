//! Keeps the tail of one message in bounded memory. Dropped text is only scanned for code fences and line breaks, so a
//! message of any length takes linear time and constant space.

use alloc::string::String;

use crate::claim::message::code_block::CodeBlockScanner;
use crate::claim::message::terminal_filter::{TerminalFilter, visible_text};

/// How many bytes at the end of a message are evaluated.
pub const MESSAGE_TAIL_BYTES: usize = 64 * 1024;

/// The tail of a message that is still being received.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageTail {
    filter: TerminalFilter,
    buffer: TailBuffer,
}

#[derive(Debug, Clone, Default)]
struct TailBuffer {
    text: String,
    code_blocks: CodeBlockScanner,
    truncation: TailTruncation,
    /// The number of line breaks in the dropped text.
    dropped_lines: LineCounter,
}

/// Whether the message is longer than the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TailTruncation {
    /// The tail is the whole message.
    #[default]
    Complete,
    /// The start of the message was dropped.
    HeadDropped,
}

/// The visible tail of a message, ready to be evaluated.
pub(crate) struct MessageExcerpt {
    pub(crate) text: String,
    pub(crate) code_blocks: CodeBlockScanner,
    pub(crate) truncation: TailTruncation,
    /// The number of lines of the message above the excerpt.
    pub(crate) lines_above: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct LineCounter(u32);

impl LineCounter {
    fn count_lines(&mut self, text: &str) {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        self.0 = self.0.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
    }
}

impl MessageTail {
    /// Adds text and returns whether any of it is visible.
    pub(crate) fn push(&mut self, text: &str) -> bool {
        let mut is_visible = false;
        let buffer = &mut self.buffer;
        self.filter.push(text, &mut |run| {
            is_visible |= !run.trim().is_empty();
            buffer.push(run);
        });
        is_visible
    }

    /// Returns whether the message has no visible text.
    pub(crate) fn is_blank(&self) -> bool {
        self.buffer.text.is_empty()
    }

    pub(crate) fn contains_text(&self, text: &str) -> bool {
        self.buffer.text.contains(text)
    }

    /// Returns the excerpt to evaluate. It does not depend on how the message was split into pieces.
    pub(crate) fn to_excerpt(&self) -> MessageExcerpt {
        let start = tail_start(&self.buffer.text);
        let mut code_blocks = self.buffer.code_blocks.clone();
        let cut_off = crate::claim::slice_or_empty(&self.buffer.text, 0..start);
        code_blocks.scan_text(cut_off);
        let mut lines = self.buffer.dropped_lines;
        lines.count_lines(cut_off);
        let truncation = if start > 0 { TailTruncation::HeadDropped } else { self.buffer.truncation };
        let text = visible_text(crate::claim::slice_or_empty(&self.buffer.text, start..self.buffer.text.len()));
        MessageExcerpt { text, code_blocks, truncation, lines_above: lines.0 }
    }

    #[cfg(test)]
    fn buffered_bytes(&self) -> usize {
        self.buffer.text.capacity()
    }
}

impl TailBuffer {
    fn push(&mut self, run: &str) {
        // Leading whitespace is dropped, so that a message without words stays blank.
        let run = if self.text.is_empty() { self.skip_leading_blank(run) } else { run };
        if run.len() >= 2 * MESSAGE_TAIL_BYTES {
            return self.replace_with_end_of(run);
        }
        self.text.push_str(run);
        if self.text.len() > 3 * MESSAGE_TAIL_BYTES {
            let start = tail_start(&self.text);
            self.code_blocks.scan_text(crate::claim::slice_or_empty(&self.text, 0..start));
            self.dropped_lines.count_lines(crate::claim::slice_or_empty(&self.text, 0..start));
            self.text.drain(..start);
            self.truncation = TailTruncation::HeadDropped;
        }
    }

    fn skip_leading_blank<'a>(&mut self, run: &'a str) -> &'a str {
        let words = run.trim_start();
        self.dropped_lines.count_lines(crate::claim::slice_or_empty(run, 0..run.len() - words.len()));
        words
    }

    fn replace_with_end_of(&mut self, run: &str) {
        let start = tail_start(run);
        for dropped in [self.text.as_str(), crate::claim::slice_or_empty(run, 0..start)] {
            self.code_blocks.scan_text(dropped);
            self.dropped_lines.count_lines(dropped);
        }
        self.text.clear();
        self.text.push_str(crate::claim::slice_or_empty(run, start..run.len()));
        self.truncation = TailTruncation::HeadDropped;
    }
}

fn tail_start(text: &str) -> usize {
    let mut start = text.len().saturating_sub(MESSAGE_TAIL_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: S8
    #[test]
    fn memory_is_bounded_and_the_tail_is_kept() {
        let mut tail = MessageTail::default();
        let piece = "0123456789abcdef\n".repeat(1000);
        for _ in 0..4000 {
            tail.push(&piece);
            assert!(tail.buffered_bytes() <= 8 * MESSAGE_TAIL_BYTES);
        }
        tail.push(&"x".repeat(3_000_000));
        tail.push("the end");
        let excerpt = tail.to_excerpt();
        assert_eq!(excerpt.text.len(), MESSAGE_TAIL_BYTES);
        assert!(excerpt.text.ends_with("xthe end"));
        assert_eq!(excerpt.truncation, TailTruncation::HeadDropped);
    }

    // spec: S3, S8
    #[test]
    fn a_code_block_that_starts_in_the_dropped_text_is_remembered() {
        let mut tail = MessageTail::default();
        tail.push("```\n");
        tail.push(&"log line\n".repeat(100_000));
        assert!(tail.to_excerpt().code_blocks.is_open());
        tail.push("```\n");
        tail.push(&"log line\n".repeat(100_000));
        assert!(!tail.to_excerpt().code_blocks.is_open());
    }
}
