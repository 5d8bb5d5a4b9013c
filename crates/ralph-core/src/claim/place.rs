//! Answers where a tag stands in its message: what is before and after it on the line, whether that is
//! only decoration, and which words belong to the same sentence.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::cut;
use super::fence::FenceScan;
use super::layout::{Kind, Line, line_of, lines};
use super::region::{elements, in_code_span, is_transparent};
use super::tag::{Tag, marks, tags};
use super::words::{OPAQUE, TAG, Word, words};

/// A message taken apart.
pub(crate) struct View<'a> {
    pub(crate) text: &'a str,
    pub(crate) lines: Vec<Line>,
    pub(crate) tags: Vec<Tag>,
    pub(crate) elements: Vec<Range<usize>>,
    prose: String,
}

impl<'a> View<'a> {
    /// Takes apart a message that begins in the state `fence`.
    pub(crate) fn new(text: &'a str, fence: FenceScan) -> Self {
        let marks = marks(text);
        let tags = tags(text, &marks);
        let lines = lines(text, fence);
        let prose = mask_code(text, &lines);
        Self { text, lines, tags, elements: elements(text, &marks), prose }
    }

    pub(crate) fn line(&self, at: usize) -> usize {
        line_of(&self.lines, at)
    }

    pub(crate) fn kind(&self, line: usize) -> Kind {
        self.lines.get(line).map_or(Kind::Blank, |line| line.kind)
    }

    /// Returns the text of the line before `at`.
    pub(crate) fn before(&self, at: usize) -> &str {
        let start = self.lines.get(self.line(at)).map_or(at, |line| line.start);
        cut(self.text, start..at)
    }

    /// Returns the text of the line after `at`.
    pub(crate) fn after(&self, at: usize) -> &str {
        let line = self.line(at.saturating_sub(1));
        let end = self.lines.get(line).map_or(at, |line| line.end);
        cut(self.text, at..end.max(at))
    }

    /// Returns the range of a line.
    pub(crate) fn range(&self, line: usize) -> Range<usize> {
        self.lines.get(line).map_or(0..0, |line| line.start..line.end)
    }

    /// Returns the words in `range`; tags are single words and code is opaque.
    pub(crate) fn words(&self, range: Range<usize>) -> Vec<Word> {
        let mut out = Vec::new();
        let mut at = range.start;
        let first = self.tags.partition_point(|tag| tag.span.end <= range.start);
        for tag in self.tags.iter().skip(first).take_while(|tag| tag.span.start < range.end) {
            out.extend(words(cut(&self.prose, at..tag.span.start), at));
            out.push(Word { text: TAG.into(), at: tag.span.start });
            at = tag.span.end.max(at);
        }
        out.extend(words(cut(&self.prose, at.min(range.end)..range.end), at));
        out
    }

    /// Returns where the paragraph of `line` begins and ends, as line numbers.
    pub(crate) fn paragraph(&self, line: usize) -> Range<usize> {
        let mut start = line;
        while start > 0 && self.kind(start) == Kind::Prose && self.joins(start - 1) {
            start -= 1;
        }
        let mut end = line + 1;
        while self.kind(end) == Kind::Prose && end < self.lines.len() {
            end += 1;
        }
        start..end
    }

    fn joins(&self, above: usize) -> bool {
        matches!(self.kind(above), Kind::Prose | Kind::Bullet | Kind::Numbered)
    }

    /// Returns the nearest line above that is not blank.
    pub(crate) fn above(&self, line: usize) -> Option<usize> {
        (0..line).rev().find(|&index| self.kind(index) != Kind::Blank)
    }

    /// Returns the nearest line below that is not blank.
    pub(crate) fn below(&self, line: usize) -> Option<usize> {
        (line + 1..self.lines.len()).find(|&index| self.kind(index) != Kind::Blank)
    }

    /// Tells whether the tag stands in an inline code span.
    pub(crate) fn is_inline_code(&self, tag: &Tag) -> bool {
        let start = self.range(self.line(tag.span.start)).start;
        let end = self.range(self.line(tag.span.end - 1)).end;
        in_code_span(cut(self.text, start..end), &(tag.span.start - start..tag.span.end - start))
    }
}

/// Returns the text with the content of code spans and quotations made opaque, byte for byte.
pub(crate) fn mask_code(text: &str, lines: &[Line]) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let raw = cut(text, line.start..line.end);
        mask_line(raw, &mut out);
    }
    out
}

fn mask_line(raw: &str, out: &mut String) {
    let mut rest = raw;
    // What is not closed before the end of the line is looked for once.
    let mut unclosed: Vec<char> = Vec::new();
    while let Some(c) = rest.chars().next() {
        let inside = cut(rest, c.len_utf8()..rest.len());
        let closing = closing_of(c).filter(|closing| !unclosed.contains(closing));
        let end = closing.and_then(|closing| inside.find(closing));
        #[cfg(test)]
        super::effort::looked(closing.map_or(0, |_| end.unwrap_or(inside.len())));
        match (closing, end) {
            // A quoted tag must stay visible to those who look for tags.
            (Some(closing), Some(end)) if end > 0 => {
                out.push(c);
                out.extend(core::iter::repeat_n(if c == '`' { OPAQUE } else { 'x' }, end));
                out.push(closing);
                rest = cut(inside, end + closing.len_utf8()..inside.len());
            }
            (closing, end) => {
                unclosed.extend(closing.filter(|_| end.is_none()));
                out.push(c);
                rest = inside;
            }
        }
    }
}

fn closing_of(opening: char) -> Option<char> {
    match opening {
        '`' | '"' => Some(opening),
        '\u{201c}' => Some('\u{201d}'),
        _ => None,
    }
}

/// Removes what only decorates: blanks, emphasis, bullets, emoji, and elements for looks.
pub(crate) fn bare(text: &str) -> &str {
    let mut rest = text;
    loop {
        let next = strip_end(strip_start(rest.trim_matches(is_decoration)));
        if next.len() == rest.len() {
            return next;
        }
        rest = next;
    }
}

fn strip_start(text: &str) -> &str {
    let checked = ["[x]", "[X]", "&nbsp;"].iter().find_map(|mark| text.strip_prefix(mark));
    if let Some(rest) = checked {
        return rest;
    }
    if let Some(end) = text.strip_prefix('<').and_then(|inner| inner.find('>')) {
        let name = cut(text, 1..end + 1).trim_matches('/').trim();
        if is_transparent(name) {
            return cut(text, end + 2..text.len());
        }
    }
    without_shortcode(text)
}

/// Removes an emoji written as `:tada:`.
fn without_shortcode(text: &str) -> &str {
    let Some(inner) = text.strip_prefix(':') else { return text };
    let length =
        inner.find(|c: char| !(c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())).unwrap_or(0);
    if length > 1 && cut(inner, length..inner.len()).starts_with(':') {
        cut(inner, length + 1..inner.len())
    } else {
        text
    }
}

fn strip_end(text: &str) -> &str {
    let Some(start) = text.strip_suffix('>').and_then(|inner| inner.rfind('<')) else { return text };
    let name = cut(text, start + 1..text.len() - 1).trim_matches('/').trim();
    if is_transparent(name) { cut(text, 0..start) } else { text }
}

fn is_decoration(c: char) -> bool {
    const QUOTES: &str = "\u{2018}\u{2019}\u{201c}\u{201d}\u{ab}\u{bb}\u{300c}\u{300d}\u{ff1f}\u{3002}\u{ff1a}\u{2191}\u{2026}";
    c.is_whitespace()
        || "*_~#-+=".contains(c)
        || (!c.is_ascii() && !c.is_alphanumeric() && !QUOTES.contains(c))
}
