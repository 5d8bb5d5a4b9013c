//! Keeps the end of one message in bounded memory. What falls out is only searched for code fences,
//! so that a message of any length costs linear time and a fixed amount of space.

use alloc::string::String;

use super::clean::{Cleaner, visible};
use super::fence::FenceScan;

/// How many bytes of a message are judged.
pub const KEPT_BYTES: usize = 64 * 1024;

/// The kept end of a message that is still growing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail {
    cleaner: Cleaner,
    kept: Kept,
}

#[derive(Debug, Clone, Default)]
struct Kept {
    text: String,
    before: FenceScan,
    dropped: Dropped,
    /// The lines that ended in what is not kept.
    lines: Lines,
}

/// Whether the message is longer than what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dropped {
    /// All of it is kept.
    #[default]
    Nothing,
    /// Its beginning is gone.
    Head,
}

/// The end of a message, ready to be judged.
pub(crate) struct Excerpt {
    pub(crate) text: String,
    pub(crate) fence: FenceScan,
    pub(crate) dropped: Dropped,
    /// The lines of the message that stand above it.
    pub(crate) above: u32,
}

/// Counts lines.
#[derive(Debug, Clone, Copy, Default)]
struct Lines(u32);

impl Lines {
    fn feed(&mut self, text: &str) {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        self.0 = self.0.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
    }
}

impl Tail {
    /// Adds words and tells whether any of them can be seen.
    pub(crate) fn push(&mut self, text: &str) -> bool {
        let mut seen = false;
        let kept = &mut self.kept;
        self.cleaner.push(text, &mut |run| {
            seen |= !run.trim().is_empty();
            kept.push(run);
        });
        seen
    }

    /// Tells whether nothing visible was said.
    pub(crate) fn is_blank(&self) -> bool {
        self.kept.text.is_empty()
    }

    /// Returns the same excerpt for the same message, in whatever pieces it came.
    pub(crate) fn excerpt(&self) -> Excerpt {
        let start = tail_start(&self.kept.text);
        let mut fence = self.kept.before.clone();
        let cut_off = super::cut(&self.kept.text, 0..start);
        fence.feed(cut_off);
        let mut lines = self.kept.lines;
        lines.feed(cut_off);
        let dropped = if start > 0 { Dropped::Head } else { self.kept.dropped };
        let text = visible(super::cut(&self.kept.text, start..self.kept.text.len()));
        Excerpt { text, fence, dropped, above: lines.0 }
    }

    #[cfg(test)]
    fn held_bytes(&self) -> usize {
        self.kept.text.capacity()
    }
}

impl Kept {
    fn push(&mut self, run: &str) {
        // White space before the first words is layout; without this rule an empty message would count.
        let run = if self.text.is_empty() { self.after_blank(run) } else { run };
        if run.len() >= 2 * KEPT_BYTES {
            return self.replace_by_end_of(run);
        }
        self.text.push_str(run);
        if self.text.len() > 3 * KEPT_BYTES {
            let start = tail_start(&self.text);
            self.before.feed(super::cut(&self.text, 0..start));
            self.lines.feed(super::cut(&self.text, 0..start));
            self.text.drain(..start);
            self.dropped = Dropped::Head;
        }
    }

    fn after_blank<'a>(&mut self, run: &'a str) -> &'a str {
        let words = run.trim_start();
        self.lines.feed(super::cut(run, 0..run.len() - words.len()));
        words
    }

    fn replace_by_end_of(&mut self, run: &str) {
        let start = tail_start(run);
        for gone in [self.text.as_str(), super::cut(run, 0..start)] {
            self.before.feed(gone);
            self.lines.feed(gone);
        }
        self.text.clear();
        self.text.push_str(super::cut(run, start..run.len()));
        self.dropped = Dropped::Head;
    }
}

fn tail_start(text: &str) -> usize {
    let mut start = text.len().saturating_sub(KEPT_BYTES);
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
    fn memory_is_bounded_and_the_end_is_kept() {
        let mut tail = Tail::default();
        let piece = "0123456789abcdef\n".repeat(1000);
        for _ in 0..4000 {
            tail.push(&piece);
            assert!(tail.held_bytes() <= 8 * KEPT_BYTES);
        }
        tail.push(&"x".repeat(3_000_000));
        tail.push("the end");
        let excerpt = tail.excerpt();
        assert_eq!(excerpt.text.len(), KEPT_BYTES);
        assert!(excerpt.text.ends_with("xthe end"));
        assert_eq!(excerpt.dropped, Dropped::Head);
    }

    // spec: S3, S8
    #[test]
    fn an_old_fence_is_remembered() {
        let mut tail = Tail::default();
        tail.push("```\n");
        tail.push(&"log line\n".repeat(100_000));
        assert!(tail.excerpt().fence.is_open());
        tail.push("```\n");
        tail.push(&"log line\n".repeat(100_000));
        assert!(!tail.excerpt().fence.is_open());
    }
}
