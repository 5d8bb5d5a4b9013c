//! Splits text into lower-case words and matches word patterns against them. Contractions are expanded ("won't" becomes
//! "will not"), so that one pattern covers both spellings.
//! By hand because regular expressions match characters, and these patterns match words, verb forms and gaps.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

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
}

impl ProseWord {
    /// Returns whether this is punctuation. Tags, code spans, crosses and checkboxes count as words.
    pub(crate) fn is_punctuation(&self) -> bool {
        self.text != TAG_WORD
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
            out.push(ProseWord { text: CODE_WORD.into(), offset: base + at });
        } else if c.is_alphanumeric() || c == '\u{1}' {
            let mut end = at + c.len_utf8();
            while let Some(&(next, inner)) = chars.peek() {
                if c == '\u{1}' || !continues_word(text, next, inner) {
                    break;
                }
                end = next + inner.len_utf8();
                chars.next();
            }
            push_word(super::slice_or_empty(text, at..end), base + at, &mut out);
        } else if c == '%' {
            append_percent_sign(&mut out);
        } else if let Some(mark) = punctuation_mark(text, at, c) {
            out.push(ProseWord { text: mark.to_owned(), offset: base + at });
        }
    }
    out
}

/// Appends the percent sign to a number: "80 %" and "80%" are one word.
fn append_percent_sign(out: &mut [ProseWord]) {
    if let Some(word) = out.last_mut().filter(|word| word.text.ends_with(|c: char| c.is_ascii_digit())) {
        word.text.push('%');
    }
}

fn continues_word(text: &str, at: usize, c: char) -> bool {
    if c.is_alphanumeric() {
        return true;
    }
    let after = super::slice_or_empty(text, at + c.len_utf8()..text.len());
    "'\u{2019}-_./%".contains(c) && after.starts_with(char::is_alphanumeric)
}

fn punctuation_mark(text: &str, at: usize, c: char) -> Option<&'static str> {
    let spaced = super::slice_or_empty(text, 0..at).ends_with([' ', '\n', '-']) || at == 0;
    Some(match c {
        ',' | '\u{ff0c}' => ",",
        ';' => ";",
        ':' | '\u{ff1a}' => ":",
        '.' => ".",
        '\u{3002}' => "\u{3002}",
        '!' | '\u{ff01}' => "!",
        '?' | '\u{ff1f}' => "?",
        '\u{2026}' => "\u{2026}",
        '(' => "(",
        ')' => ")",
        '\u{2013}' | '\u{2014}' | '\u{2192}' | '=' | '\u{21d2}' => "-",
        '-' if spaced => "-",
        '^' | '\u{2190}' | '\u{2191}' | '\u{21d0}' | '\u{2b06}' => "^",
        '"' | '\u{201c}' | '\u{201d}' => "\"",
        '\u{274c}' | '\u{2717}' | '\u{2718}' | '\u{2716}' | '\u{23f3}' | '\u{1f6a7}' | '\u{1f534}' | '\u{2610}'
        | '\u{2b1c}' | '\u{1f532}' => "\u{274c}",
        _ => return None,
    })
}

/// Expands contractions and adds the resulting words.
fn push_word(raw: &str, at: usize, out: &mut Vec<ProseWord>) {
    let lower = raw.to_lowercase().replace('\u{2019}', "'");
    let (first, second) = expand_contraction(&lower);
    for text in [Some(first), second].into_iter().flatten() {
        out.push(ProseWord { text, offset: at });
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

/// Returns the first match of `pattern`.
///
/// A pattern is a list of slots, separated by blanks: `a/b` matches one of these words, `%emit` any form of the verb,
/// `#` a number above zero, `*` any word, `..` up to four words, `...` up to eight words, `word?` an optional word,
/// `<` the start, `$` the end.
pub(crate) fn find_match(words: &[ProseWord], pattern: &str) -> Option<Range<usize>> {
    if let Some(rest) = pattern.strip_prefix("< ") {
        let start = words.iter().position(|word| !word.is_punctuation())?;
        let length = match_slots(words.get(start..)?, rest)?;
        return Some(start..start + length);
    }
    let opening = FirstByteSet::for_slot(split_first_slot(pattern).0);
    #[cfg(test)]
    super::step_counter::count_steps(words.len());
    let mut places = words.iter().enumerate().filter(|(_, word)| opening.admits_word(word));
    places.find_map(|(at, _)| match_slots_at(words, at, pattern))
}

/// The first bytes of the words with which a match can start. Most words are rejected by their first byte alone.
struct FirstByteSet {
    bytes: [u64; 4],
}

impl FirstByteSet {
    fn for_slot(slot: &str) -> Self {
        let mut opening = Self { bytes: [0; 4] };
        let may_be_missing = slot.len() > 1 && slot.ends_with('?');
        if may_be_missing || matches!(slot, "" | ".." | "..." | "$") {
            return Self { bytes: [u64::MAX; 4] };
        }
        for choice in slot.as_bytes().split(|c| *c == b'/') {
            match choice {
                [b'*' | b'#', ..] => return Self { bytes: [u64::MAX; 4] },
                [b'%', first, ..] | [first, ..] => opening.insert(*first),
                [] => {}
            }
        }
        opening
    }

    fn insert(&mut self, byte: u8) {
        if let Some(part) = self.bytes.get_mut(usize::from(byte >> 6)) {
            *part |= 1 << (byte & 63);
        }
    }

    fn admits_word(&self, word: &ProseWord) -> bool {
        let Some(first) = word.text.bytes().next() else { return true };
        self.bytes.get(usize::from(first >> 6)).is_some_and(|part| part >> (first & 63) & 1 == 1)
    }
}

/// Splits off the first slot of a pattern.
fn split_first_slot(slots: &str) -> (&str, &str) {
    let blank = slots.bytes().position(|c| c == b' ');
    blank.map_or((slots, ""), |at| {
        (super::slice_or_empty(slots, 0..at), super::slice_or_empty(slots, at + 1..slots.len()))
    })
}

/// Matches the slots of a pattern at the word `at`.
pub(crate) fn match_slots_at(words: &[ProseWord], at: usize, slots: &str) -> Option<Range<usize>> {
    match_slots(words.get(at..)?, slots).map(|length| at..at + length)
}

/// Returns the match of the first pattern in `list` that matches.
pub(crate) fn find_any_match(words: &[ProseWord], list: &[&str]) -> Option<Range<usize>> {
    list.iter().find_map(|pattern| find_match(words, pattern))
}

/// Returns whether any pattern in `list` matches.
pub(crate) fn has_match(words: &[ProseWord], list: &[&str]) -> bool {
    find_any_match(words, list).is_some()
}

fn match_slots(words: &[ProseWord], slots: &str) -> Option<usize> {
    #[cfg(test)]
    super::step_counter::count_steps(1);
    if slots.is_empty() {
        return Some(0);
    }
    if slots == "$" {
        return words.iter().all(ProseWord::is_punctuation).then_some(0);
    }
    let (slot, later) = split_first_slot(slots);
    match slot {
        ".." => return match_gap(words, later, 4),
        "..." => return match_gap(words, later, 8),
        _ => {}
    }
    if let Some(wanted) = slot.strip_suffix('?').filter(|wanted| !wanted.is_empty()) {
        let with = words.split_first().filter(|(word, _)| word_matches_slot(word, wanted));
        return with
            .and_then(|(_, rest)| match_slots(rest, later).map(|length| length + 1))
            .or_else(|| match_slots(words, later));
    }
    let (word, rest) = words.split_first()?;
    if !word_matches_slot(word, slot) {
        return None;
    }
    match_slots(rest, later).map(|length| length + 1)
}

fn match_gap(words: &[ProseWord], later: &str, longest: usize) -> Option<usize> {
    for skipped in 0..=longest {
        if let Some(length) = match_slots(words.get(skipped..)?, later) {
            return Some(skipped + length);
        }
        if words.get(skipped).is_none_or(ProseWord::is_punctuation) {
            return None;
        }
    }
    None
}

/// Returns whether a word matches one of the choices of a slot. This is the innermost loop, so it compares the first
/// byte of a choice before the rest.
pub(crate) fn word_matches_slot(word: &ProseWord, slot: &str) -> bool {
    let bytes = word.text.as_bytes();
    let Some(first) = bytes.first() else { return false };
    slot.as_bytes().split(|c| *c == b'/').any(|choice| match choice {
        [b'#', ..] => parse_number(&word.text).is_some_and(|value| value > 0),
        [b'*', ..] => !word.is_punctuation(),
        [b'%', base @ ..] => {
            base.first() == Some(first) && core::str::from_utf8(base).is_ok_and(|base| is_verb_form(&word.text, base))
        }
        [same, ..] => same == first && choice == bytes,
        [] => false,
    })
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
    if !word.starts_with(|c: char| c.is_ascii_digit() || "zotfsen".contains(c)) {
        return None;
    }
    const NUMBER_NAMES: &[&str] =
        &["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let digits = word.replace([',', '_'], "");
    digits.parse().ok().or_else(|| NUMBER_NAMES.iter().position(|name| *name == word).map(|value| value as u64))
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
    fn patterns_match_words_verb_forms_and_gaps() {
        let words = split_words("I am deliberately not outputting it", 0);
        assert_eq!(find_match(&words, "not %output"), Some(3..5));
        assert_eq!(find_match(&words, "am .. it"), Some(1..6));
        assert_eq!(find_match(&words, "< we/i am still? deliberately"), Some(0..3));
        assert!(find_match(&words, "output").is_none());
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
