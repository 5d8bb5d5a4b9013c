//! Finds the signal tags in a text. It says where a tag stands and what it holds, and leaves to others
//! whether it is used or only talked about.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::cut;
use super::promise::collapse;

/// The signals an agent can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Promise,
    Blocked,
    Reject,
}

pub(crate) const SIGNALS: &[(&str, Signal)] =
    &[("promise", Signal::Promise), ("blocked", Signal::Blocked), ("reject", Signal::Reject)];

/// How the angle brackets are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Bare,
    Escaped,
}

/// What the opening tag carries besides its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Label {
    None,
    Id(String),
    Other,
}

/// One closed tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) signal: Signal,
    pub(crate) form: Form,
    pub(crate) label: Label,
    pub(crate) span: Range<usize>,
    /// The content, with white space collapsed.
    pub(crate) value: String,
}

/// An opening or closing mark of any element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: MarkKind,
    pub(crate) form: Form,
    pub(crate) attributes: &'a str,
    pub(crate) span: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkKind {
    Open,
    Close,
    Alone,
}

const LESS: &[(&str, Form)] =
    &[("<", Form::Bare), ("&lt;", Form::Escaped), ("&#60;", Form::Escaped), ("&#x3c;", Form::Escaped)];
const GREATER: &[&str] = &[">", "&gt;", "&#62;", "&#x3e;"];
const LONGEST_ATTRIBUTES: usize = 256;

/// Returns all element marks of `text` in order.
pub(crate) fn marks(text: &str) -> Vec<Mark<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) = memchr::memchr2(b'<', b'&', cut(text, at..text.len()).as_bytes()) {
        at += step;
        match mark_at(text, at) {
            Some(mark) => {
                at = mark.span.end;
                found.push(mark);
            }
            None => at += 1,
        }
    }
    found
}

fn mark_at(text: &str, start: usize) -> Option<Mark<'_>> {
    let rest = cut(text, start..text.len());
    let (less, form) = LESS.iter().find(|(less, _)| starts_with_ignoring_case(rest, less))?;
    let mut at = less.len();
    let closing = cut(rest, at..rest.len()).starts_with('/');
    at += usize::from(closing);
    let tail = cut(rest, at..rest.len());
    let length =
        tail.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.:".contains(c))).unwrap_or(tail.len());
    let name = cut(tail, 0..length);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    at += length;
    let (inside, close) = up_to_greater(cut(rest, at..rest.len()), *form)?;
    let attributes = inside.trim();
    if !attributes.is_empty() && !inside.starts_with([' ', '\t', '\n', '/']) {
        return None;
    }
    let kind = match (closing, attributes.ends_with('/')) {
        (true, _) => MarkKind::Close,
        (false, true) => MarkKind::Alone,
        (false, false) => MarkKind::Open,
    };
    Some(Mark { name, kind, form: *form, attributes, span: start..start + at + inside.len() + close })
}

/// Returns what stands before the closing bracket, and the length of that bracket.
fn up_to_greater(text: &str, form: Form) -> Option<(&str, usize)> {
    let mut end = text.len().min(LONGEST_ATTRIBUTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let near = cut(text, 0..end);
    let (at, length) = match form {
        Form::Bare => (near.find('>')?, 1),
        Form::Escaped => near.char_indices().find_map(|(at, _)| {
            let rest = cut(near, at..near.len());
            GREATER.iter().find(|g| starts_with_ignoring_case(rest, g)).map(|g| (at, g.len()))
        })?,
    };
    let inside = cut(near, 0..at);
    (!inside.contains('<')).then_some((inside, length))
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

/// Returns the signal that a mark belongs to.
pub(crate) fn signal_of(mark: &Mark<'_>) -> Option<Signal> {
    SIGNALS.iter().find(|(name, _)| mark.name.eq_ignore_ascii_case(name)).map(|(_, signal)| *signal)
}

/// Returns all closed signal tags, in the order of their opening.
pub(crate) fn tags(text: &str, marks: &[Mark<'_>]) -> Vec<Tag> {
    let mut found = Vec::new();
    let mut open: [Option<&Mark<'_>>; 3] = [None; 3];
    for mark in marks {
        let Some(signal) = signal_of(mark) else { continue };
        let Some(slot) = open.get_mut(signal as usize) else { continue };
        match mark.kind {
            MarkKind::Open => *slot = Some(mark),
            MarkKind::Alone => {}
            MarkKind::Close => {
                if let Some(start) = slot.take().filter(|start| start.form == mark.form) {
                    found.push(tag(text, signal, start, mark));
                }
            }
        }
    }
    found.sort_by_key(|tag: &Tag| tag.span.start);
    found
}

fn tag(text: &str, signal: Signal, start: &Mark<'_>, end: &Mark<'_>) -> Tag {
    Tag {
        signal,
        form: start.form,
        label: label(start.attributes),
        span: start.span.start..end.span.end,
        value: collapse(cut(text, start.span.end..end.span.start)),
    }
}

fn label(attributes: &str) -> Label {
    if attributes.is_empty() {
        return Label::None;
    }
    let Some((name, value)) = attributes.split_once('=') else { return Label::Other };
    if !name.trim().eq_ignore_ascii_case("id") {
        return Label::Other;
    }
    let value = value.trim().replace("&quot;", "\"");
    let bare = value.trim_matches(['"', '\'', '\u{201c}', '\u{201d}']);
    if bare.contains([' ', '"', '=']) { Label::Other } else { Label::Id(bare.into()) }
}

/// Returns `value` with the usual HTML escapes undone once.
pub(crate) fn unescape(value: &str) -> String {
    const ESCAPES: &[(&str, char)] = &[
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
        match ESCAPES.iter().find(|(escape, _)| starts_with_ignoring_case(rest, escape)) {
            Some((escape, meant)) => {
                out.push(*meant);
                rest = cut(rest, escape.len()..rest.len());
            }
            None => {
                out.push(c);
                rest = cut(rest, c.len_utf8()..rest.len());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        tags(text, &marks(text)).into_iter().map(|tag| tag.value).collect()
    }

    // spec: S1
    #[test]
    fn a_tag_is_found_in_any_letter_case_and_over_lines() {
        assert_eq!(values("<Promise>Complete</PROMISE>"), ["Complete"]);
        assert_eq!(values("<promise>\n  ALL\nDONE </promise >"), ["ALL DONE"]);
    }

    // spec: S8
    #[test]
    fn escaped_tags_are_found_and_kept_apart() {
        assert_eq!(values("&lt;promise&gt;X&lt;/promise&gt;"), ["X"]);
        assert!(values("&lt;promise&gt;X</promise>").is_empty());
    }

    // spec: S1
    #[test]
    fn what_is_broken_or_alike_is_no_tag() {
        for text in [
            "<promise>X",
            "X</promise>",
            "[promise]X[/promise]",
            "<promis>X</promis>",
            "<promises>X</promises>",
            "＜promise＞X＜/promise＞",
            "<рromise>X</рromise>",
        ] {
            assert!(values(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn an_unclosed_tag_does_not_swallow_the_next_one() {
        assert_eq!(values("<promise>A and then <promise>B</promise>"), ["B"]);
    }

    // spec: S9
    #[test]
    fn an_id_is_read_from_the_opening_tag() {
        let text = "<promise id=\"k3f9\">X</promise>";
        assert_eq!(tags(text, &marks(text)).first().unwrap().label, Label::Id("k3f9".into()));
    }
}
