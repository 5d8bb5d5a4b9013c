//! Makes the signal tags in quoted text dead, so that a prompt that quotes an agent holds no live tag
//! but its own.

use alloc::string::String;

use super::signal_tag::SIGNAL_NAMES;
use super::slice_or_empty;
use super::terminal_filter::strip_terminal_codes;

const OPENING_BRACKETS: &[&str] = &["<", "&lt;", "&#60;", "&#x3c;"];
const CLOSING_BRACKETS: &[&str] = &[">", "&gt;", "&#62;", "&#x3e;"];

/// Returns `text` without terminal codes and with every signal tag in square brackets.
pub fn neutralise_tags(text: &str) -> String {
    let text = strip_terminal_codes(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = memchr::memchr2(b'<', b'&', rest.as_bytes()) {
        out.push_str(slice_or_empty(rest, 0..at));
        rest = slice_or_empty(rest, at..rest.len());
        match neutralise_mark(rest) {
            Some((length, dead)) => {
                out.push_str(&dead);
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

/// Returns how long the tag at the start of `text` is, and what stands for it.
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
    let mut dead = String::from(if slash { "[/" } else { "[" });
    dead.push_str(written);
    dead.push(']');
    Some((at + closing_len(after), dead))
}

/// Returns how much after the name belongs to the tag: its blanks, attributes and closing bracket.
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
            let dead = neutralise_tags(text);
            assert!(
                !dead.to_lowercase().contains("<promise") && !dead.to_lowercase().contains("&lt;promise"),
                "{dead}"
            );
            assert_eq!(neutralise_tags(&dead), dead);
        }
        assert_eq!(neutralise_tags("a <promise>X</promise> b"), "a [promise]X[/promise] b");
        assert_eq!(
            neutralise_tags("<blocked>no key</blocked> <reject>bad</reject>"),
            "[blocked]no key[/blocked] [reject]bad[/reject]"
        );
    }

    // spec: L4
    #[test]
    fn other_text_stays_as_it_is() {
        assert_eq!(neutralise_tags("a < b && <promises> Vec<u8>"), "a < b && <promises> Vec<u8>");
    }
}
