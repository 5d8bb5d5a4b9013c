//! A parsed message: its lines, its tags, and the words around a tag. Also recognises text on a line that is only
//! decoration.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::message::code_block::CodeBlockScanner;
use crate::claim::message::excluded_regions::{find_excluded_ranges, is_in_code_span, is_transparent_element};
use crate::claim::message::markdown_lines::{LineKind, MessageLine, after_fence, line_index_at, split_lines};
use crate::claim::signal_tag::{SignalTag, find_element_marks, find_signal_tags};
use crate::claim::slice_or_empty;
use crate::claim::text::prose_words::{MASKED_CODE_CHAR, ProseWord, TAG_WORD, split_words};

/// A message with its lines, signal tags and excluded ranges.
pub(crate) struct ParsedMessage<'a> {
    pub(crate) text: &'a str,
    pub(crate) lines: Vec<MessageLine>,
    pub(crate) tags: Vec<SignalTag>,
    pub(crate) excluded_ranges: Vec<Range<usize>>,
    masked_text: String,
}

impl<'a> ParsedMessage<'a> {
    /// Parses a message; `code_blocks` is the state of the scan at its start.
    pub(crate) fn new(text: &'a str, code_blocks: CodeBlockScanner) -> Self {
        let marks = find_element_marks(text);
        let tags = find_signal_tags(text, &marks);
        let lines = split_lines(text, code_blocks);
        let masked_text = mask_code(text, &lines);
        Self { text, lines, tags, excluded_ranges: find_excluded_ranges(text, &marks), masked_text }
    }

    pub(crate) fn line_at(&self, at: usize) -> usize {
        line_index_at(&self.lines, at)
    }

    pub(crate) fn line_kind(&self, line: usize) -> LineKind {
        self.lines.get(line).map_or(LineKind::Blank, |line| line.kind)
    }

    /// Returns the text before `at` on its line.
    pub(crate) fn text_before(&self, at: usize) -> &str {
        let start = self.lines.get(self.line_at(at)).map_or(at, |line| line.start);
        slice_or_empty(self.text, start..at)
    }

    /// Returns the text after `at` on its line.
    pub(crate) fn text_after(&self, at: usize) -> &str {
        let line = self.line_at(at.saturating_sub(1));
        let end = self.lines.get(line).map_or(at, |line| line.end);
        slice_or_empty(self.text, at..end.max(at))
    }

    /// Returns the byte range of a line.
    pub(crate) fn line_range(&self, line: usize) -> Range<usize> {
        self.lines.get(line).map_or(0..0, |line| line.start..line.end)
    }

    /// Returns the words in `range`. Each tag is one word, and code is masked.
    pub(crate) fn words_in(&self, range: Range<usize>) -> Vec<ProseWord> {
        let mut out = Vec::new();
        let mut at = range.start;
        let first = self.tags.partition_point(|tag| tag.span.end <= range.start);
        for tag in self.tags.iter().skip(first).take_while(|tag| tag.span.start < range.end) {
            out.extend(split_words(slice_or_empty(&self.masked_text, at..tag.span.start), at));
            out.push(ProseWord::new(TAG_WORD, tag.span.start));
            at = tag.span.end.max(at);
        }
        out.extend(split_words(slice_or_empty(&self.masked_text, at.min(range.end)..range.end), at));
        out
    }

    /// Returns the line numbers of the paragraph that contains `line`.
    pub(crate) fn paragraph_lines(&self, line: usize) -> Range<usize> {
        let mut start = line;
        while start > 0 && self.line_kind(start) == LineKind::Prose && self.joins_paragraph(start - 1) {
            start -= 1;
        }
        let mut end = line + 1;
        while self.line_kind(end) == LineKind::Prose && end < self.lines.len() {
            end += 1;
        }
        start..end
    }

    fn joins_paragraph(&self, above: usize) -> bool {
        matches!(self.line_kind(above), LineKind::Prose | LineKind::Bullet | LineKind::Numbered)
    }

    /// Returns the nearest line above that is not blank.
    pub(crate) fn line_above(&self, line: usize) -> Option<usize> {
        (0..line).rev().find(|&index| self.line_kind(index) != LineKind::Blank)
    }

    /// Returns the nearest line below that is not blank.
    pub(crate) fn line_below(&self, line: usize) -> Option<usize> {
        (line + 1..self.lines.len()).find(|&index| self.line_kind(index) != LineKind::Blank)
    }

    /// Returns whether no words follow the byte `at`. Further tags are not words.
    pub(crate) fn is_end_of_message(&self, at: usize) -> bool {
        let mut rest = at;
        let mut is_blank = true;
        for tag in self.tags.iter().filter(|tag| tag.span.start >= at) {
            is_blank &= !slice_or_empty(self.text, rest..tag.span.start.max(rest)).contains(char::is_alphanumeric);
            rest = tag.span.end.max(rest);
        }
        is_blank && !slice_or_empty(self.text, rest..self.text.len()).contains(char::is_alphanumeric)
    }

    /// Returns whether the tag is in an inline code span.
    pub(crate) fn is_inline_code(&self, tag: &SignalTag) -> bool {
        let line = self.line_range(self.line_at(tag.span.start));
        let start = line.end - after_fence(slice_or_empty(self.text, line.clone())).len();
        let is_behind_fence = start >= tag.span.start && !self.text_after(tag.span.end).contains('`');
        if is_behind_fence {
            return false;
        }
        let start = line.start;
        let end = self.line_range(self.line_at(tag.span.end - 1)).end;
        is_in_code_span(slice_or_empty(self.text, start..end), &(tag.span.start - start..tag.span.end - start))
    }
}

/// Returns the text with the content of code spans and quotations masked. All byte offsets stay the same.
pub(crate) fn mask_code(text: &str, lines: &[MessageLine]) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let raw = slice_or_empty(text, line.start..line.end);
        mask_line(raw, &mut out);
    }
    out
}

fn mask_line(raw: &str, out: &mut String) {
    let mut rest = raw;
    // Marks without a closing mark on this line: each is searched for only once.
    let mut unclosed: Vec<char> = Vec::new();
    while let Some(c) = rest.chars().next() {
        let inside = slice_or_empty(rest, c.len_utf8()..rest.len());
        let closing = closing_quote(c).filter(|closing| !unclosed.contains(closing));
        let end = closing.and_then(|closing| inside.find(closing));
        #[cfg(test)]
        crate::claim::text::step_counter::count_steps(closing.map_or(0, |_| end.unwrap_or(inside.len())));
        match (closing, end) {
            // The content is masked, but the quotation marks stay visible.
            (Some(closing), Some(end)) if end > 0 => {
                out.push(c);
                out.extend(core::iter::repeat_n(if c == '`' { MASKED_CODE_CHAR } else { 'x' }, end));
                out.push(closing);
                rest = slice_or_empty(inside, end + closing.len_utf8()..inside.len());
            }
            (closing, end) => {
                unclosed.extend(closing.filter(|_| end.is_none()));
                out.push(c);
                rest = inside;
            }
        }
    }
}

fn closing_quote(opening: char) -> Option<char> {
    match opening {
        '`' | '"' => Some(opening),
        '\u{201c}' => Some('\u{201d}'),
        _ => None,
    }
}

/// Removes decoration from both ends: blanks, emphasis, bullets, emoji, and formatting elements.
pub(crate) fn trim_decoration(text: &str) -> &str {
    let mut rest = text;
    loop {
        let next = strip_trailing_element(strip_leading_decoration(rest.trim_matches(is_decoration)));
        if next.len() == rest.len() {
            return next;
        }
        rest = next;
    }
}

fn strip_leading_decoration(text: &str) -> &str {
    let checked = ["[x]", "[X]", "&nbsp;"].iter().find_map(|mark| text.strip_prefix(mark));
    if let Some(rest) = checked {
        return rest;
    }
    if let Some(end) = text.strip_prefix('<').and_then(|inner| inner.find('>')) {
        let name = slice_or_empty(text, 1..end + 1).trim_matches('/').trim();
        if is_transparent_element(name) {
            return slice_or_empty(text, end + 2..text.len());
        }
    }
    strip_emoji_shortcode(text)
}

/// Removes an emoji written as `:tada:`.
fn strip_emoji_shortcode(text: &str) -> &str {
    let Some(inner) = text.strip_prefix(':') else { return text };
    let length = inner.find(|c: char| !(c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())).unwrap_or(0);
    if length > 1 && slice_or_empty(inner, length..inner.len()).starts_with(':') {
        slice_or_empty(inner, length + 1..inner.len())
    } else {
        text
    }
}

fn strip_trailing_element(text: &str) -> &str {
    let Some(start) = text.strip_suffix('>').and_then(|inner| inner.rfind('<')) else { return text };
    let name = slice_or_empty(text, start + 1..text.len() - 1).trim_matches('/').trim();
    if is_transparent_element(name) { slice_or_empty(text, 0..start) } else { text }
}

fn is_decoration(c: char) -> bool {
    const QUOTES: &str =
        "\u{2018}\u{2019}\u{201c}\u{201d}\u{ab}\u{bb}\u{300c}\u{300d}\u{ff1f}\u{3002}\u{ff1a}\u{2191}\u{2026}";
    c.is_whitespace() || "*_~#-+=".contains(c) || (!c.is_ascii() && !c.is_alphanumeric() && !QUOTES.contains(c))
}
