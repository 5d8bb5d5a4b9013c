//! Neutralises the signal tags in quoted text, so that a prompt that quotes an agent contains no signal tags except
//! its own.

use alloc::string::String;

use super::message::terminal_filter::strip_terminal_codes;
use super::signal_tag::SIGNAL_NAMES;
use super::slice_or_empty;

const OPENING_BRACKETS: &[&str] = &["<", "&lt;", "&#60;", "&#x3c;"];
const CLOSING_BRACKETS: &[&str] = &[">", "&gt;", "&#62;", "&#x3e;"];

/// Removes terminal codes from `text` and rewrites every signal tag with square brackets.
pub fn neutralise_tags(text: &str) -> String {
    let text = strip_terminal_codes(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = memchr::memchr2(b'<', b'&', rest.as_bytes()) {
        out.push_str(slice_or_empty(rest, 0..at));
        rest = slice_or_empty(rest, at..rest.len());
        match neutralise_mark(rest) {
            Some((length, neutral)) => {
                out.push_str(&neutral);
                rest = slice_or_empty(rest, length..rest.len());
            }
            None => {
                out.push_str(slice_or_empty(rest, 0..1));
                rest = slice_or_empty(rest, 1..rest.len());
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns the length of the tag at the start of `text`, and its replacement.
fn neutralise_mark(text: &str) -> Option<(usize, String)> {
    let less = matching_prefix_len(text, OPENING_BRACKETS)?;
    let mut at = less;
    let slash = slice_or_empty(text, at..text.len()).starts_with('/');
    at += usize::from(slash);
    let (name, _) = SIGNAL_NAMES
        .iter()
        .find(|(name, _)| matching_prefix_len(slice_or_empty(text, at..text.len()), &[name]).is_some())?;
    let written = slice_or_empty(text, at..at + name.len());
    at += name.len();
    let after = slice_or_empty(text, at..text.len());
    if after.starts_with(|c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c)) {
        return None;
    }
    let mut neutral = String::from(if slash { "[/" } else { "[" });
    neutral.push_str(written);
    neutral.push(']');
    Some((at + closing_len(after), neutral))
}

/// Returns the length of the rest of the tag after its name: blanks, attributes and closing bracket.
fn closing_len(after: &str) -> usize {
    let near = after.find(['<', '\n']).unwrap_or(after.len());
    let found = after.char_indices().take_while(|(at, _)| *at < near).find_map(|(at, _)| {
        matching_prefix_len(slice_or_empty(after, at..after.len()), CLOSING_BRACKETS).map(|length| at + length)
    });
    found.unwrap_or(0)
}

fn matching_prefix_len(text: &str, list: &[&str]) -> Option<usize> {
    list.iter().find(|p| text.get(..p.len()).is_some_and(|head| head.eq_ignore_ascii_case(p))).map(|p| p.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L4
    #[test]
    fn every_spelling_of_a_tag_is_neutralised() {
        for text in [
            "<promise>X</promise>",
            "<PROMISE>X</Promise>",
            "&lt;promise&gt;X&lt;/promise&gt;",
            "<pro\u{200b}mise>X</promise>",
            "<\u{1b}[1mpromise>X</promise>",
            "<promise id=\"k3f9\">X</promise >",
            "<pro<promise>mise>X</promise>",
        ] {
            let neutral = neutralise_tags(text);
            assert!(
                !neutral.to_lowercase().contains("<promise") && !neutral.to_lowercase().contains("&lt;promise"),
                "{neutral}"
            );
            assert_eq!(neutralise_tags(&neutral), neutral);
        }
        assert_eq!(neutralise_tags("a <promise>X</promise> b"), "a [promise]X[/promise] b");
        assert_eq!(
            neutralise_tags("<blocked>no key</blocked> <reject>bad</reject>"),
            "[blocked]no key[/blocked] [reject]bad[/reject]"
        );
    }

    // spec: L4
    #[test]
    fn other_text_is_unchanged() {
        assert_eq!(neutralise_tags("a < b && <promises> Vec<u8>"), "a < b && <promises> Vec<u8>");
    }
}
