//! Finds the signal tags in a text, with their position and content. `tag_usage` decides whether a tag is used or only
//! mentioned.
//! Hand-written because agent output is not well-formed XML or HTML.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::promise::collapse_whitespace;
use super::slice_or_empty;
use super::wait_request::WaitTime;

/// The signals that an agent can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentSignal {
    Promise,
    Blocked,
    Reject,
    Wait,
}

pub(crate) const SIGNAL_NAMES: &[(&str, AgentSignal)] = &[
    ("promise", AgentSignal::Promise),
    ("blocked", AgentSignal::Blocked),
    ("reject", AgentSignal::Reject),
    ("wait", AgentSignal::Wait),
];

/// How the angle brackets are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BracketForm {
    Bare,
    Escaped,
}

/// The attribute of the opening tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TagAttribute {
    None,
    Id(String),
    /// The time of a wait.
    Time(WaitTime),
    Other,
}

/// A signal tag with its closing mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignalTag {
    pub(crate) signal: AgentSignal,
    pub(crate) form: BracketForm,
    pub(crate) attribute: TagAttribute,
    pub(crate) span: Range<usize>,
    /// The content, with whitespace collapsed.
    pub(crate) value: String,
}

/// An opening or closing mark of any element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElementMark<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: ElementMarkKind,
    pub(crate) form: BracketForm,
    pub(crate) attributes: &'a str,
    pub(crate) span: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementMarkKind {
    Open,
    Close,
    SelfClosing,
}

const OPENING_BRACKETS: &[(&str, BracketForm)] = &[
    ("<", BracketForm::Bare),
    ("&lt;", BracketForm::Escaped),
    ("&#60;", BracketForm::Escaped),
    ("&#x3c;", BracketForm::Escaped),
];
const CLOSING_BRACKETS: &[&str] = &[">", "&gt;", "&#62;", "&#x3e;"];
const MAX_ATTRIBUTE_BYTES: usize = 256;

/// Returns all element marks of `text` in order.
pub(crate) fn find_element_marks(text: &str) -> Vec<ElementMark<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) = memchr::memchr2(b'<', b'&', slice_or_empty(text, at..text.len()).as_bytes()) {
        at += step;
        match element_mark_at(text, at) {
            Some(mark) => {
                at = mark.span.end;
                found.push(mark);
            }
            None => at += 1,
        }
    }
    found
}

fn element_mark_at(text: &str, start: usize) -> Option<ElementMark<'_>> {
    let rest = slice_or_empty(text, start..text.len());
    let (less, form) = OPENING_BRACKETS.iter().find(|(less, _)| starts_with_ignoring_case(rest, less))?;
    let mut at = less.len();
    let closing = slice_or_empty(rest, at..rest.len()).starts_with('/');
    at += usize::from(closing);
    let tail = slice_or_empty(rest, at..rest.len());
    let length = tail.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.:".contains(c))).unwrap_or(tail.len());
    let name = slice_or_empty(tail, 0..length);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    at += length;
    let (inside, close) = split_at_closing_bracket(slice_or_empty(rest, at..rest.len()), *form)?;
    let attributes = inside.trim();
    if !attributes.is_empty() && !inside.starts_with([' ', '\t', '\n', '/']) {
        return None;
    }
    let kind = match (closing, attributes.ends_with('/')) {
        (true, _) => ElementMarkKind::Close,
        (false, true) => ElementMarkKind::SelfClosing,
        (false, false) => ElementMarkKind::Open,
    };
    Some(ElementMark { name, kind, form: *form, attributes, span: start..start + at + inside.len() + close })
}

/// Returns the text before the closing bracket, and the length of the bracket.
fn split_at_closing_bracket(text: &str, form: BracketForm) -> Option<(&str, usize)> {
    let mut end = text.len().min(MAX_ATTRIBUTE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let near = slice_or_empty(text, 0..end);
    let (at, length) = match form {
        BracketForm::Bare => (near.find('>')?, 1),
        BracketForm::Escaped => near.char_indices().find_map(|(at, _)| {
            let rest = slice_or_empty(near, at..near.len());
            CLOSING_BRACKETS.iter().find(|g| starts_with_ignoring_case(rest, g)).map(|g| (at, g.len()))
        })?,
    };
    let inside = slice_or_empty(near, 0..at);
    (!inside.contains('<')).then_some((inside, length))
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

/// Returns the signal that a mark belongs to.
pub(crate) fn signal_of_mark(mark: &ElementMark<'_>) -> Option<AgentSignal> {
    SIGNAL_NAMES.iter().find(|(name, _)| mark.name.eq_ignore_ascii_case(name)).map(|(_, signal)| *signal)
}

/// Returns all closed signal tags, ordered by their start.
pub(crate) fn find_signal_tags(text: &str, marks: &[ElementMark<'_>]) -> Vec<SignalTag> {
    let mut found = Vec::new();
    let mut open: [Option<&ElementMark<'_>>; 4] = [None; 4];
    for mark in marks {
        let Some(signal) = signal_of_mark(mark) else { continue };
        let Some(slot) = open.get_mut(signal as usize) else { continue };
        match mark.kind {
            ElementMarkKind::Open => *slot = Some(mark),
            ElementMarkKind::SelfClosing => {}
            ElementMarkKind::Close => {
                if let Some(start) = slot.take().filter(|start| start.form == mark.form) {
                    found.push(build_tag(text, signal, start, mark));
                }
            }
        }
    }
    found.sort_by_key(|tag: &SignalTag| tag.span.start);
    found
}

fn build_tag(text: &str, signal: AgentSignal, start: &ElementMark<'_>, end: &ElementMark<'_>) -> SignalTag {
    SignalTag {
        signal,
        form: start.form,
        attribute: parse_attribute(signal, start.attributes),
        span: start.span.start..end.span.end,
        value: collapse_whitespace(slice_or_empty(text, start.span.end..end.span.start)),
    }
}

fn parse_attribute(signal: AgentSignal, attributes: &str) -> TagAttribute {
    if attributes.is_empty() {
        return TagAttribute::None;
    }
    if signal == AgentSignal::Wait {
        return WaitTime::parse(attributes).map_or(TagAttribute::Other, TagAttribute::Time);
    }
    let Some((name, value)) = attributes.split_once('=') else { return TagAttribute::Other };
    if !name.trim().eq_ignore_ascii_case("id") {
        return TagAttribute::Other;
    }
    let value = value.trim().replace("&quot;", "\"");
    let bare = value.trim_matches(['"', '\'', '\u{201c}', '\u{201d}']);
    if bare.contains([' ', '"', '=']) { TagAttribute::Other } else { TagAttribute::Id(bare.into()) }
}

/// Decodes the common HTML escapes in `value` once.
pub(crate) fn unescape_html(value: &str) -> String {
    const HTML_ESCAPES: &[(&str, char)] = &[
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&apos;", '\''),
        ("&#39;", '\''),
        ("&#x27;", '\''),
        ("&#34;", '"'),
        ("&nbsp;", ' '),
        ("&amp;", '&'),
    ];
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(c) = rest.chars().next() {
        match HTML_ESCAPES.iter().find(|(escape, _)| starts_with_ignoring_case(rest, escape)) {
            Some((escape, character)) => {
                out.push(*character);
                rest = slice_or_empty(rest, escape.len()..rest.len());
            }
            None => {
                out.push(c);
                rest = slice_or_empty(rest, c.len_utf8()..rest.len());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag_values(text: &str) -> Vec<String> {
        find_signal_tags(text, &find_element_marks(text)).into_iter().map(|tag| tag.value).collect()
    }

    // spec: S1
    #[test]
    fn a_tag_is_found_in_any_letter_case_and_across_lines() {
        assert_eq!(tag_values("<Promise>Complete</PROMISE>"), ["Complete"]);
        assert_eq!(tag_values("<promise>\n  ALL\nDONE </promise >"), ["ALL DONE"]);
    }

    // spec: S8
    #[test]
    fn an_escaped_tag_is_found_but_does_not_pair_with_a_bare_tag() {
        assert_eq!(tag_values("&lt;promise&gt;X&lt;/promise&gt;"), ["X"]);
        assert!(tag_values("&lt;promise&gt;X</promise>").is_empty());
    }

    // spec: S1
    #[test]
    fn broken_and_similar_tags_are_ignored() {
        for text in [
            "<promise>X",
            "X</promise>",
            "[promise]X[/promise]",
            "<promis>X</promis>",
            "<promises>X</promises>",
            "＜promise＞X＜/promise＞",
            "<рromise>X</рromise>",
        ] {
            assert!(tag_values(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn an_unclosed_tag_does_not_swallow_the_next_one() {
        assert_eq!(tag_values("<promise>A and then <promise>B</promise>"), ["B"]);
    }

    // spec: S9
    #[test]
    fn an_id_is_read_from_the_opening_tag() {
        let text = "<promise id=\"k3f9\">X</promise>";
        assert_eq!(
            find_signal_tags(text, &find_element_marks(text)).first().unwrap().attribute,
            TagAttribute::Id("k3f9".into())
        );
    }
}
