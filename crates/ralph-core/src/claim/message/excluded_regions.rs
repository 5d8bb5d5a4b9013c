//! Finds the parts of a message where a tag is never a claim: inline code, quotation marks, comments, and the content
//! of other elements.

use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::signal_tag::{ElementMark, ElementMarkKind, signal_of_mark};
use crate::claim::slice_or_empty;

/// Elements that only format the text or wrap the whole answer.
const TRANSPARENT_ELEMENTS: &[&str] = &[
    "b",
    "i",
    "u",
    "em",
    "strong",
    "p",
    "div",
    "span",
    "center",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "br",
    "hr",
    "details",
    "section",
    "article",
    "main",
    "body",
    "html",
    "small",
    "big",
    "mark",
    "font",
    "ins",
    "answer",
    "final",
    "final_answer",
    "final-answer",
    "response",
    "result",
    "attempt_completion",
    "reply",
    "message",
    "assistant",
];
/// Elements that exclude the rest of the message if they are never closed.
const HIDING_ELEMENTS: &[&str] = &["think", "thinking", "reasoning", "scratchpad", "thought", "thoughts", "analysis"];

/// Returns the ranges of comments and of elements whose content is not a statement of the agent.
pub(crate) fn find_excluded_ranges(text: &str, marks: &[ElementMark<'_>]) -> Vec<Range<usize>> {
    let mut found = comment_ranges(text);
    let mut open: Vec<&ElementMark<'_>> = Vec::new();
    for mark in marks {
        match mark.kind {
            ElementMarkKind::Open => open.push(mark),
            ElementMarkKind::SelfClosing => {}
            ElementMarkKind::Close => close_element(mark, &mut open, &mut found),
        }
    }
    let hiding = |mark: &&&ElementMark<'_>| HIDING_ELEMENTS.iter().any(|name| mark.name.eq_ignore_ascii_case(name));
    found.extend(open.iter().filter(hiding).map(|mark| mark.span.start..text.len()));
    found
}

/// How many open elements are searched for the opening mark of a closing mark.
const MAX_ELEMENT_DEPTH: usize = 64;

fn close_element<'a>(mark: &ElementMark<'a>, open: &mut Vec<&ElementMark<'a>>, found: &mut Vec<Range<usize>>) {
    let partner =
        open.iter().rev().take(MAX_ELEMENT_DEPTH).position(|start| start.name.eq_ignore_ascii_case(mark.name));
    let Some(back) = partner else { return };
    let at = open.len() - 1 - back;
    let Some(start) = open.get(at) else { return };
    if signal_of_mark(start).is_some() || !is_transparent_element(start.name) {
        found.push(start.span.start..mark.span.end);
    }
    open.truncate(at);
}

/// Returns whether an element only formats its content.
pub(crate) fn is_transparent_element(name: &str) -> bool {
    TRANSPARENT_ELEMENTS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn comment_ranges(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = slice_or_empty(text, at..text.len()).find("<!--").map(|step| at + step) {
        let end = slice_or_empty(text, start..text.len()).find("-->").map_or(text.len(), |step| start + step + 3);
        found.push(start..end);
        at = end;
    }
    found
}

/// Returns whether the byte range is inside a code span of its line.
pub(crate) fn is_in_code_span(line: &str, inner: &Range<usize>) -> bool {
    let mut at = 0;
    while let Some(start) = slice_or_empty(line, at..line.len()).find('`').map(|step| at + step) {
        let length = backtick_run_len(line, start);
        let Some(end) = find_closing_run(line, start + length, length) else {
            at = start + length;
            if at == inner.start {
                return true;
            }
            continue;
        };
        if start < inner.start && inner.end <= end {
            return true;
        }
        at = end + length;
    }
    false
}

fn backtick_run_len(line: &str, start: usize) -> usize {
    slice_or_empty(line, start..line.len()).bytes().take_while(|byte| *byte == b'`').count()
}

fn find_closing_run(line: &str, from: usize, length: usize) -> Option<usize> {
    let mut at = from;
    while let Some(start) = slice_or_empty(line, at..line.len()).find('`').map(|step| at + step) {
        let found = backtick_run_len(line, start);
        if found == length {
            return Some(start);
        }
        at = start + found;
    }
    None
}

/// Returns whether a quotation is opened in `before` and closed in `after`.
pub(crate) fn is_in_quotation(before: &str, after: &str) -> bool {
    let straight = before.matches('"').count() % 2 == 1 && after.contains('"');
    straight
        || is_quotation_open(before, after, '\u{201c}', '\u{201d}')
        || is_quotation_open(before, after, '\u{ab}', '\u{bb}')
        || is_quotation_open(before, after, '\u{300c}', '\u{300d}')
        || is_in_single_quotes(before, after)
}

fn is_quotation_open(before: &str, after: &str, opening: char, closing: char) -> bool {
    let last_open = before.rfind(opening);
    last_open.is_some() && last_open > before.rfind(closing) && after.contains(closing)
}

/// Single quotation marks are also apostrophes, so they count only next to the tag.
fn is_in_single_quotes(before: &str, after: &str) -> bool {
    let before = before.trim_end_matches(['*', '_']);
    let after = after.trim_start_matches(['*', '_', '.']);
    (before.ends_with('\'') && after.starts_with('\''))
        || (before.ends_with('\u{2018}') && after.starts_with('\u{2019}'))
        || (before.ends_with('"') && after.starts_with('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::signal_tag::find_element_marks;

    // spec: S3
    #[test]
    fn the_content_of_other_elements_is_excluded() {
        let text = "<event topic=\"x\">a</event> <b>c</b> <thinking>d";
        assert_eq!(find_excluded_ranges(text, &find_element_marks(text)), [0..26, 36..47]);
    }

    // spec: S3
    #[test]
    fn a_stray_backtick_does_not_open_a_code_span() {
        assert!(is_in_code_span("say `<p>` now", &(5..8)));
        assert!(is_in_code_span("say ``a ` <p>`` now", &(10..13)));
        assert!(!is_in_code_span("the ` key and <p> here", &(14..17)));
        assert!(!is_in_code_span("`a` <p> `b`", &(4..7)));
    }

    // spec: S3
    #[test]
    fn quotation_marks_must_enclose_the_tag() {
        assert!(is_in_quotation("it says \"end with ", "\"."));
        assert!(!is_in_quotation("the \"old\" limit is gone. ", ""));
        assert!(is_in_quotation("the word '", "'"));
        assert!(!is_in_quotation("that's it. ", " it's done"));
    }
}
