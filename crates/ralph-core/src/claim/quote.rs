//! Words of an agent as a reason shows them: one line, and not long.
use alloc::string::String;

use super::neutral::neutralise;
use super::promise::collapse;

/// How much of a sentence a reason shows.
const SHOWN_CHARS: usize = 160;

/// Returns a text without live tags.
pub(crate) fn quoted(text: &str) -> String {
    shown(&neutralise(text))
}

/// Returns a text as it is, also where it is about a tag.
pub(crate) fn shown(text: &str) -> String {
    let text = collapse(text);
    let mut out: String = text.chars().take(SHOWN_CHARS).collect();
    if out.len() < text.len() {
        out.push('\u{2026}');
    }
    out
}

/// Returns a sentence, or only its decisive words where it is too long for both.
pub(crate) fn quoted_around(sentence: &str, decisive: &str) -> String {
    let whole = quoted(sentence);
    if whole.ends_with('\u{2026}') { quoted(decisive) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: S11, L4
    #[test]
    fn a_quotation_is_one_line_without_a_live_tag() {
        assert_eq!(quoted("TODO: docs\n\n<promise>DONE</promise>\r\n"), "TODO: docs [promise]DONE[/promise]");
    }

    // spec: S11
    #[test]
    fn of_an_endless_sentence_the_decisive_words_are_shown() {
        let sentence = alloc::format!("{}, two tests fail", "and so on ".repeat(100));
        assert_eq!(quoted_around(&sentence, "two tests fail"), "two tests fail");
        assert_eq!(quoted(&sentence).chars().count(), SHOWN_CHARS + 1);
    }
}
