//! Splits text into lower-case words and sentences. Contractions are expanded ("won't" becomes "will not"), so that one
//! pattern covers both spellings.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::claim::text::pattern::WordMask;

/// Represents a signal tag in a list of words.
pub(crate) const TAG_WORD: &str = "\u{1}";

/// Masks the content of code spans. A masked span becomes one word, `` ` ``.
pub(crate) const MASKED_CODE_CHAR: char = '\u{2}';
const CODE_WORD: &str = "`";

/// A word or punctuation mark and its byte offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProseWord {
    pub(crate) text: String,
    pub(crate) offset: usize,
    pub(crate) mask: WordMask,
}

impl ProseWord {
    pub(crate) fn new(text: impl Into<String>, offset: usize) -> Self {
        let text = text.into();
        let mask = WordMask::of_word(&text);
        Self { text, offset, mask }
    }

    /// Returns whether this word represents a signal tag.
    pub(crate) fn is_tag(&self) -> bool {
        self.text == TAG_WORD
    }

    /// Returns whether this is punctuation. Tags, code spans, crosses and checkboxes count as words.
    pub(crate) fn is_punctuation(&self) -> bool {
        !self.is_tag()
            && self.text != CODE_WORD
            && !self.text.starts_with(char::is_alphanumeric)
            && !self.text.starts_with(['\u{274c}', '['])
    }

    /// Returns whether this mark ends a sentence.
    pub(crate) fn ends_sentence(&self) -> bool {
        matches!(self.text.as_str(), "." | "!" | "?" | "\u{2026}" | "\u{3002}")
    }
}

/// Splits `text` into words; `base` is added to every offset.
pub(crate) fn split_words(text: &str, base: usize) -> Vec<ProseWord> {
    let mut out = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == MASKED_CODE_CHAR {
            while chars.next_if(|(_, next)| *next == MASKED_CODE_CHAR).is_some() {}
            out.push(ProseWord::new(CODE_WORD, base + at));
        } else if is_cjk(c) {
            out.push(ProseWord::new(c, base + at));
        } else if c.is_alphanumeric() || c == '\u{1}' {
            let mut end = at + c.len_utf8();
            while let Some(&(next, inner)) = chars.peek() {
                if c == '\u{1}' || !continues_word(text, next, inner) {
                    break;
                }
                end = next + inner.len_utf8();
                chars.next();
            }
            push_word(crate::claim::slice_or_empty(text, at..end), base + at, &mut out);
        } else if c == '%' {
            append_percent_sign(&mut out);
        } else if let Some(mark) = punctuation_mark(text, at, c) {
            out.push(ProseWord::new(mark, base + at));
        }
    }
    out
}

/// Appends the percent sign to a number: "80 %" and "80%" are one word.
fn append_percent_sign(out: &mut [ProseWord]) {
    if let Some(word) = out.last_mut().filter(|word| word.text.ends_with(|c: char| c.is_ascii_digit())) {
        word.text.push('%');
        word.mask = WordMask::of_word(&word.text);
    }
}

/// Returns whether each character of this script is a word: Chinese, Japanese and Korean are split into characters.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

fn continues_word(text: &str, at: usize, c: char) -> bool {
    if c.is_alphanumeric() {
        return !is_cjk(c);
    }
    let after = crate::claim::slice_or_empty(text, at + c.len_utf8()..text.len());
    "'\u{2019}-_./%".contains(c) && after.starts_with(char::is_alphanumeric)
}

fn punctuation_mark(text: &str, at: usize, c: char) -> Option<&'static str> {
    let spaced = crate::claim::slice_or_empty(text, 0..at).ends_with([' ', '\n', '-']) || at == 0;
    Some(match c {
        ',' | '\u{ff0c}' | '\u{3001}' => ",",
        ';' | '\u{ff1b}' => ";",
        ':' | '\u{ff1a}' => ":",
        '.' => ".",
        '\u{3002}' => "\u{3002}",
        '!' | '\u{ff01}' => "!",
        '?' | '\u{ff1f}' => "?",
        '\u{2026}' => "\u{2026}",
        '(' | '\u{ff08}' => "(",
        ')' | '\u{ff09}' => ")",
        '\u{2013}' | '\u{2014}' | '\u{2192}' | '=' | '\u{21d2}' => "-",
        '-' if spaced => "-",
        '^' | '\u{2190}' | '\u{2191}' | '\u{21d0}' | '\u{2b06}' => "^",
        '"' | '\u{201c}' | '\u{201d}' => "\"",
        '\u{274c}' | '\u{2717}' | '\u{2718}' | '\u{2716}' | '\u{23f3}' | '\u{1f6a7}' | '\u{1f534}' | '\u{2610}'
        | '\u{2b1c}' | '\u{1f532}' | '\u{1f6ab}' | '\u{26d4}' | '\u{1f6d1}' => "\u{274c}",
        _ => return None,
    })
}

/// Expands contractions and adds the resulting words.
fn push_word(raw: &str, at: usize, out: &mut Vec<ProseWord>) {
    let lower = raw.to_lowercase().replace('\u{2019}', "'");
    let (first, second) = expand_contraction(&lower);
    for text in [Some(first), second].into_iter().flatten() {
        out.push(ProseWord::new(text, at));
    }
}

fn expand_contraction(word: &str) -> (String, Option<String>) {
    let two = |a: &str, b: &str| (a.to_owned(), Some(b.to_owned()));
    match word {
        "won't" => return two("will", "not"),
        "can't" | "cannot" => return two("can", "not"),
        "shan't" => return two("shall", "not"),
        "ain't" => return two("is", "not"),
        "let's" => return two("let", "us"),
        "i'm" => return two("i", "am"),
        "it's" | "that's" | "here's" | "there's" | "what's" | "this's" => {
            return two(word.trim_end_matches("'s"), "is");
        }
        _ => {}
    }
    for (ending, meant) in [("n't", "not"), ("'ll", "will"), ("'d", "would"), ("'ve", "have"), ("'re", "are")] {
        if let Some(stem) = word.strip_suffix(ending) {
            return two(stem, meant);
        }
    }
    (word.to_owned(), None)
}

/// Returns whether `word` is a regular form of the verb `base`.
pub(crate) fn is_verb_form(word: &str, base: &str) -> bool {
    let Some(ending) = word.strip_prefix(base.trim_end_matches(['e', 'y'])) else { return false };
    let stem = base.get(base.trim_end_matches(['e', 'y']).len()..).unwrap_or("");
    let last = base.chars().last().unwrap_or(' ');
    match stem {
        "" => {
            let ending = ending.strip_prefix(last).filter(|e| *e == "ing" || *e == "ed").unwrap_or(ending);
            matches!(ending, "" | "s" | "es" | "ed" | "ing")
        }
        "y" => matches!(ending, "y" | "ys" | "ies" | "ied" | "ying" | "yed"),
        _ => ending == stem || ending == "ing" || ending == format!("{stem}s") || ending == format!("{stem}d"),
    }
}

/// Parses a number that is written in digits, or in words up to twelve.
pub(crate) fn parse_number(word: &str) -> Option<u64> {
    const NUMBER_NAMES: &[&str] =
        &["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return word.replace([',', '_'], "").parse().ok();
    }
    NUMBER_NAMES.iter().position(|name| *name == word).map(|value| value as u64)
}

/// A longer run of words is probably a log, so it is split.
const MAX_SENTENCE_WORDS: usize = 400;

/// Splits words into sentences. The closing mark belongs to its sentence.
pub(crate) fn split_sentences(words: &[ProseWord]) -> Vec<&[ProseWord]> {
    let mut out = Vec::new();
    let mut start = 0;
    for (at, word) in words.iter().enumerate() {
        let abbreviated = at.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|before| {
            matches!(before.text.as_str(), "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx" | "incl")
        });
        if (word.ends_sentence() && !abbreviated) || at - start >= MAX_SENTENCE_WORDS {
            out.extend(words.get(start..=at));
            start = at + 1;
        }
    }
    out.extend(words.get(start..).filter(|rest| !rest.is_empty()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word_texts(text: &str) -> Vec<String> {
        split_words(text, 0).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn contractions_are_expanded() {
        assert_eq!(word_texts("I won't say it's done"), ["i", "will", "not", "say", "it", "is", "done"]);
        assert_eq!(word_texts("don’t"), ["do", "not"]);
    }

    #[test]
    fn numbers_and_names_stay_whole() {
        assert_eq!(
            word_texts("v1.0 is code-complete, at 4.5:1."),
            ["v1.0", "is", "code-complete", ",", "at", "4.5", ":", "1", "."]
        );
    }

    #[test]
    fn regular_verb_forms_are_recognised() {
        for (word, base) in
            [("emitting", "emit"), ("declared", "declare"), ("replies", "reply"), ("passes", "pass"), ("says", "say")]
        {
            assert!(is_verb_form(word, base), "{word}");
        }
        assert!(!is_verb_form("sayings", "say"));
        assert!(!is_verb_form("emitter", "emit"));
    }
}
