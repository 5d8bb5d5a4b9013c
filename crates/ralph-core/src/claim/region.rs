//! Finds the parts of a message where a tag cannot be a claim because of where it is: inline code,
//! quotation marks, comments, and the content of other elements.

use alloc::vec::Vec;
use core::ops::Range;

use super::cut;
use super::tag::{Mark, MarkKind, signal_of};

/// Elements that only dress up the text or wrap the whole answer.
const TRANSPARENT: &[&str] = &[
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
/// Elements that hide what follows even when they are never closed.
const HIDING: &[&str] = &["think", "thinking", "reasoning", "scratchpad", "thought", "thoughts", "analysis"];

/// Returns the content ranges of elements that are about something else.
pub(crate) fn elements(text: &str, marks: &[Mark<'_>]) -> Vec<Range<usize>> {
    let mut found = comments(text);
    let mut open: Vec<&Mark<'_>> = Vec::new();
    for mark in marks {
        match mark.kind {
            MarkKind::Open => open.push(mark),
            MarkKind::Alone => {}
            MarkKind::Close => close(mark, &mut open, &mut found),
        }
    }
    let hiding = |mark: &&&Mark<'_>| HIDING.iter().any(|name| mark.name.eq_ignore_ascii_case(name));
    found.extend(open.iter().filter(hiding).map(|mark| mark.span.start..text.len()));
    found
}

/// How many open elements are looked through for the partner of a closing mark.
const DEEPEST: usize = 64;

fn close<'a>(mark: &Mark<'a>, open: &mut Vec<&Mark<'a>>, found: &mut Vec<Range<usize>>) {
    let partner =
        open.iter().rev().take(DEEPEST).position(|start| start.name.eq_ignore_ascii_case(mark.name));
    let Some(back) = partner else { return };
    let at = open.len() - 1 - back;
    let Some(start) = open.get(at) else { return };
    if signal_of(start).is_some() || !is_transparent(start.name) {
        found.push(start.span.start..mark.span.end);
    }
    open.truncate(at);
}

/// Tells whether an element only dresses up its content.
pub(crate) fn is_transparent(name: &str) -> bool {
    TRANSPARENT.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = cut(text, at..text.len()).find("<!--").map(|step| at + step) {
        let end = cut(text, start..text.len()).find("-->").map_or(text.len(), |step| start + step + 3);
        found.push(start..end);
        at = end;
    }
    found
}

/// Tells whether the byte range lies inside a code span of its line.
pub(crate) fn in_code_span(line: &str, inner: &Range<usize>) -> bool {
    let mut at = 0;
    while let Some(start) = cut(line, at..line.len()).find('`').map(|step| at + step) {
        let length = run_length(line, start);
        let Some(end) = closing_run(line, start + length, length) else {
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

fn run_length(line: &str, start: usize) -> usize {
    cut(line, start..line.len()).bytes().take_while(|byte| *byte == b'`').count()
}

fn closing_run(line: &str, from: usize, length: usize) -> Option<usize> {
    let mut at = from;
    while let Some(start) = cut(line, at..line.len()).find('`').map(|step| at + step) {
        let found = run_length(line, start);
        if found == length {
            return Some(start);
        }
        at = start + found;
    }
    None
}

/// Tells whether quotation marks are open in `before` and closed in `after`.
pub(crate) fn in_quotation(before: &str, after: &str) -> bool {
    let straight = before.matches('"').count() % 2 == 1 && after.contains('"');
    straight
        || is_open(before, after, '\u{201c}', '\u{201d}')
        || is_open(before, after, '\u{ab}', '\u{bb}')
        || is_open(before, after, '\u{300c}', '\u{300d}')
        || is_touching(before, after)
}

fn is_open(before: &str, after: &str, opening: char, closing: char) -> bool {
    let last_open = before.rfind(opening);
    last_open.is_some() && last_open > before.rfind(closing) && after.contains(closing)
}

/// Single marks are also apostrophes, so they count only when they touch the tag.
fn is_touching(before: &str, after: &str) -> bool {
    let before = before.trim_end_matches(['*', '_']);
    let after = after.trim_start_matches(['*', '_', '.']);
    (before.ends_with('\'') && after.starts_with('\''))
        || (before.ends_with('\u{2018}') && after.starts_with('\u{2019}'))
        || (before.ends_with('"') && after.starts_with('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::tag::marks;

    // spec: S3
    #[test]
    fn the_content_of_other_elements_is_about_something_else() {
        let text = "<event topic=\"x\">a</event> <b>c</b> <thinking>d";
        assert_eq!(elements(text, &marks(text)), [0..26, 36..47]);
    }

    // spec: S3
    #[test]
    fn a_stray_backtick_opens_no_code_span() {
        assert!(in_code_span("say `<p>` now", &(5..8)));
        assert!(in_code_span("say ``a ` <p>`` now", &(10..13)));
        assert!(!in_code_span("the ` key and <p> here", &(14..17)));
        assert!(!in_code_span("`a` <p> `b`", &(4..7)));
    }

    // spec: S3
    #[test]
    fn quotation_marks_must_be_open_around_the_tag() {
        assert!(in_quotation("it says \"end with ", "\"."));
        assert!(!in_quotation("the \"old\" limit is gone. ", ""));
        assert!(in_quotation("the word '", "'"));
        assert!(!in_quotation("that's it. ", " it's done"));
    }
}
