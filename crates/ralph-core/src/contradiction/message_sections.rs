//! Splits the message of a claim into sentences and finds the section of each one: statements below a heading such as
//! "Known limitations" are not about this work.

use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::languages::language_of;
use crate::claim::message::markdown_lines::LineKind;
use crate::claim::message::parsed_message::ParsedMessage;
use crate::claim::slice_or_empty;
use crate::claim::text::prose_words::{ProseWord, split_sentences};

/// A sentence of the message, the byte offset of its end, and its section.
pub(super) struct MessageSentence {
    pub(super) words: Vec<ProseWord>,
    pub(super) end: usize,
    pub(super) section: SectionKind,
}

/// The content of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// Any statements.
    Plain,
    /// The heading of a list of open work.
    OpenHeading,
    /// Ideas, limitations, fixed problems, or work that was not requested.
    Settled,
}

/// How far a section extends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SectionReach {
    /// Up to the next heading.
    ToNextHeading,
    /// Up to the end of the list below its title.
    ToListEnd,
}

/// The section that the current line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Section {
    kind: SectionKind,
    reach: SectionReach,
}

const PLAIN: Section = Section { kind: SectionKind::Plain, reach: SectionReach::ToNextHeading };

/// Returns the sentences of all prose, headings and list items of the message that contains the tag.
pub(super) fn prose_sentences(view: &ParsedMessage<'_>, tag_offset: usize) -> Vec<MessageSentence> {
    let mut out = Vec::new();
    let mut line = first_line_of_message(view, view.line_at(tag_offset));
    let mut current = PLAIN;
    while line < view.lines.len() {
        let kind = view.line_kind(line);
        if matches!(kind, LineKind::Blank | LineKind::Code | LineKind::Quote | LineKind::Table) {
            line += 1;
            continue;
        }
        let end = view.paragraph_lines(line).end.max(line + 1);
        let range = view.line_range(line).start..view.line_range(end - 1).end;
        let words = view.words_in(range.clone());
        let title = is_title(slice_or_empty(view.text, range.clone()), &words, kind).then(|| classify_title(&words));
        current = next_section(kind, title, current);
        let is_open_list = title == Some(SectionKind::OpenHeading) && has_list_below(view, end);
        let section = if is_open_list {
            SectionKind::OpenHeading
        } else if starts_with_check_mark(slice_or_empty(view.text, range.clone())) {
            SectionKind::Settled
        } else {
            current.kind
        };
        push_sentences(view, range, section, &mut out);
        line = end;
    }
    out
}

/// Returns the first line after the last line that shows tool use. A transcript in plain text shows the whole session,
/// and only its end is the message of the claim.
fn first_line_of_message(view: &ParsedMessage<'_>, tag_line: usize) -> usize {
    let is_tool_line = |line: &usize| {
        let raw = slice_or_empty(view.text, view.line_range(*line));
        is_tool_call(raw) || is_diff_line(raw)
    };
    (0..tag_line).rev().find(is_tool_line).map_or(0, |line| line + 1)
}

/// Returns whether a line shows a tool call: "[Bash] …", "$ cargo test", "⏺ Read(…)".
fn is_tool_call(raw: &str) -> bool {
    let raw = raw.trim_start();
    let in_brackets = raw.strip_prefix('[').and_then(|inner| inner.split_once(']'));
    let is_tool_name = |name: &str| name.len() > 2 && name.starts_with(char::is_alphabetic) && !name.contains(' ');
    in_brackets.is_some_and(|(name, after)| is_tool_name(name) && !after.starts_with(['(', ':', '[']))
        || raw.starts_with("$ ")
        || raw.starts_with(['\u{23fa}', '\u{25cf}', '\u{23bf}'])
}

fn is_diff_line(raw: &str) -> bool {
    ["diff --git ", "@@ -", "+++ ", "--- a/"].iter().any(|mark| raw.starts_with(mark))
}

/// Returns the section that a paragraph belongs to, given the section before it.
fn next_section(kind: LineKind, title: Option<SectionKind>, current: Section) -> Section {
    let kind_below = |title: SectionKind| match title {
        SectionKind::Settled => SectionKind::Settled,
        SectionKind::Plain | SectionKind::OpenHeading => SectionKind::Plain,
    };
    match (kind, title) {
        (LineKind::Heading, Some(title)) => Section { kind: kind_below(title), reach: SectionReach::ToNextHeading },
        (LineKind::Prose, Some(SectionKind::Plain)) if current.reach == SectionReach::ToNextHeading => current,
        (LineKind::Prose, Some(title)) => Section { kind: kind_below(title), reach: SectionReach::ToListEnd },
        (LineKind::Prose, None) if current.reach == SectionReach::ToListEnd => PLAIN,
        _ => current,
    }
}

fn is_title(raw: &str, words: &[ProseWord], kind: LineKind) -> bool {
    let raw = raw.trim();
    let is_bold = raw.starts_with("**") && raw.trim_end_matches(':').ends_with("**");
    let is_open = words.last().is_some_and(|word| word.text == ":");
    let is_short = words.len() <= 6 && !words.last().is_some_and(ProseWord::ends_sentence) && !raw.contains('\n');
    kind == LineKind::Heading || (kind == LineKind::Prose && (is_bold || is_open || is_short))
}

fn classify_title(words: &[ProseWord]) -> SectionKind {
    let cues = language_of(words);
    if cues.settled_headings.matches(words) {
        SectionKind::Settled
    } else if cues.open_headings.matches(words) {
        SectionKind::OpenHeading
    } else {
        SectionKind::Plain
    }
}

/// Returns whether a line is marked as done, as in "- ✅ Does not start twice".
fn starts_with_check_mark(raw: &str) -> bool {
    let raw = raw.trim_start_matches(['-', '*', '+', ' ', '\t']);
    raw.starts_with(['\u{2713}', '\u{2714}', '\u{2705}', '\u{2611}', '\u{1f5f8}']) || raw.starts_with("[x]")
}

fn has_list_below(view: &ParsedMessage<'_>, line: usize) -> bool {
    let next = (line..view.lines.len()).find(|&line| view.line_kind(line) != LineKind::Blank);
    next.is_some_and(|line| view.tags.iter().all(|tag| view.line_at(tag.span.start) != line))
}

fn push_sentences(view: &ParsedMessage<'_>, range: Range<usize>, section: SectionKind, out: &mut Vec<MessageSentence>) {
    let mut words = Vec::new();
    if slice_or_empty(view.text, range.clone()).trim_start_matches(['-', '*', '+', ' ']).starts_with("[ ]") {
        words.push(ProseWord::new("[]", range.start));
    }
    words.extend(view.words_in(range.clone()));
    let parts = split_sentences(&words);
    for (at, part) in parts.iter().enumerate() {
        let end = parts.get(at + 1).and_then(|next| next.first()).map_or(range.end, |next| next.offset);
        out.push(MessageSentence { words: part.to_vec(), end, section });
    }
}
