//! Shortens agent text for use in a reason: one line of limited length.

use alloc::string::String;

use crate::claim::neutralise::neutralise_tags;
use crate::claim::promise::collapse_whitespace;

/// The maximum length of a quotation.
const MAX_QUOTE_CHARS: usize = 160;

/// Quotes a text with its signal tags neutralised.
pub(crate) fn quote_without_tags(text: &str) -> String {
    quote_verbatim(&neutralise_tags(text))
}

/// Quotes a text with its signal tags unchanged, for reasons that are about a tag.
pub(crate) fn quote_verbatim(text: &str) -> String {
    let text = collapse_whitespace(text);
    let mut out: String = text.chars().take(MAX_QUOTE_CHARS).collect();
    if out.len() < text.len() {
        out.push('\u{2026}');
    }
    out
}

/// Quotes a sentence, or only its decisive phrase if the sentence is too long.
pub(crate) fn quote_sentence_or_phrase(sentence: &str, decisive: &str) -> String {
    let whole = quote_without_tags(sentence);
    if whole.ends_with('\u{2026}') { quote_without_tags(decisive) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: S11, L4
    #[test]
    fn a_quotation_is_one_line_without_an_active_tag() {
        assert_eq!(
            quote_without_tags("TODO: docs\n\n<promise>DONE</promise>\r\n"),
            "TODO: docs [promise]DONE[/promise]"
        );
    }

    // spec: S11
    #[test]
    fn only_the_decisive_phrase_of_a_very_long_sentence_is_quoted() {
        let sentence = alloc::format!("{}, two tests fail", "and so on ".repeat(100));
        assert_eq!(quote_sentence_or_phrase(&sentence, "two tests fail"), "two tests fail");
        assert_eq!(quote_without_tags(&sentence).chars().count(), MAX_QUOTE_CHARS + 1);
    }
}
