//! Lists of word patterns that are parsed at compile time. Bit masks reject most sentences without comparing strings.
//!
//! A list is a text with one pattern per line, or several separated by `|`; a line that starts with `//` is a comment.
//! A pattern is a list of slots, separated by blanks: `a/b` matches one of these words, `%emit` any form of the verb,
//! `#` a number above zero, `*` any word, `@` a tag, `..` up to four words, `...` up to eight words, `word?` an optional
//! word, `< ` at the start the first word of the sentence, `$` the end, `a/b/$` one of these words or the end. Each Chinese, Japanese or Korean character is a
//! word, so `还没` is two slots.
//! Hand-written because regular expressions match characters, and these patterns match words, verb forms and gaps.

use core::ops::Range;

use crate::claim::text::prose_words::{ProseWord, is_verb_form, parse_number};

/// An approximate set of words: hashed bits of their first two bytes, and of their last byte and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordMask {
    prefix_bits: u128,
    suffix_bits: u64,
}

impl WordMask {
    const NONE: Self = Self { prefix_bits: 0, suffix_bits: 0 };
    const ANY: Self = Self { prefix_bits: u128::MAX, suffix_bits: u64::MAX };
    /// Numbers have an additional bit, which no word uses.
    const NUMBER: Self = Self { prefix_bits: 1 << 127, suffix_bits: u64::MAX };

    const fn union(self, other: Self) -> Self {
        Self { prefix_bits: self.prefix_bits | other.prefix_bits, suffix_bits: self.suffix_bits | other.suffix_bits }
    }

    /// Returns whether the sets may have a word in common.
    const fn intersects(self, other: Self) -> bool {
        self.prefix_bits & other.prefix_bits != 0 && self.suffix_bits & other.suffix_bits != 0
    }

    pub(crate) fn of_word(word: &str) -> Self {
        let mask = word_bytes_mask(word.as_bytes());
        if parse_number(word).is_some() { mask.union(Self { suffix_bits: 0, ..Self::NUMBER }) } else { mask }
    }
}

/// A list of compiled patterns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatternList {
    patterns: &'static [WordPattern],
    slots: &'static [PatternSlot],
}

/// One pattern: its slots are a range of the slots of its list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordPattern {
    first_slot: usize,
    slot_count: usize,
    is_anchored: bool,
    /// The words that the first matched word may be.
    first_word_mask: WordMask,
    /// The words of up to two slots that must match for the pattern to match.
    required_masks: [WordMask; 2],
}

/// One slot of a pattern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatternSlot {
    kind: SlotKind,
    choices: &'static str,
    mask: WordMask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    One,
    /// One of the words, or the end of the sentence.
    OneOrEnd,
    Optional,
    /// Any words, up to this many.
    Gap(usize),
    End,
}

/// Compiles the patterns of a text.
macro_rules! pattern_list {
    ($text:expr) => {{
        const TEXT: &str = $text;
        const SLOTS: [$crate::claim::text::pattern::PatternSlot; $crate::claim::text::pattern::count_slots(TEXT)] =
            $crate::claim::text::pattern::parse_slots(TEXT);
        const PATTERNS: [$crate::claim::text::pattern::WordPattern;
            $crate::claim::text::pattern::count_patterns(TEXT)] =
            $crate::claim::text::pattern::parse_patterns(TEXT, &SLOTS);
        $crate::claim::text::pattern::PatternList::new(&PATTERNS, &SLOTS)
    }};
}
pub(crate) use pattern_list;

impl PatternList {
    pub(crate) const fn new(patterns: &'static [WordPattern], slots: &'static [PatternSlot]) -> Self {
        Self { patterns, slots }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns whether any pattern matches.
    pub(crate) fn matches(&self, words: &[ProseWord]) -> bool {
        self.find(words).is_some()
    }

    /// Returns the first match of the first pattern that matches.
    pub(crate) fn find(&self, words: &[ProseWord]) -> Option<Range<usize>> {
        self.find_all(words).next()
    }

    /// Returns the first match of every pattern that matches.
    pub(crate) fn find_all(&self, words: &[ProseWord]) -> impl Iterator<Item = Range<usize>> {
        let sentence_mask = words.iter().fold(WordMask::NONE, |all, word| all.union(word.mask));
        #[cfg(test)]
        crate::claim::text::step_counter::count_steps(words.len());
        self.patterns.iter().filter_map(move |pattern| {
            let is_possible = pattern.required_masks.iter().all(|mask| mask.intersects(sentence_mask));
            if is_possible { self.find_pattern(pattern, words) } else { None }
        })
    }

    /// Returns whether a pattern of one slot matches this word.
    pub(crate) fn matches_word(&self, word: &ProseWord) -> bool {
        self.patterns.iter().any(|pattern| {
            pattern.slot_count == 1
                && word.mask.intersects(pattern.first_word_mask)
                && self.slots.get(pattern.first_slot).is_some_and(|slot| word_matches_slot(word, slot))
        })
    }

    fn find_pattern(&self, pattern: &WordPattern, words: &[ProseWord]) -> Option<Range<usize>> {
        #[cfg(test)]
        crate::claim::text::step_counter::count_steps(words.len());
        let slots = self.slots.get(pattern.first_slot..pattern.first_slot + pattern.slot_count)?;
        let match_at = |at: usize| {
            let is_possible = words.get(at).is_some_and(|word| word.mask.intersects(pattern.first_word_mask));
            if is_possible { match_end(words, at, slots).map(|end| at..end) } else { None }
        };
        if pattern.is_anchored {
            return match_at(words.iter().position(|word| !word.is_punctuation())?);
        }
        (0..words.len()).find_map(match_at)
    }
}

/// Returns the end of the match of `slots` that starts at the word `at`.
fn match_end(words: &[ProseWord], at: usize, slots: &[PatternSlot]) -> Option<usize> {
    #[cfg(test)]
    crate::claim::text::step_counter::count_steps(1);
    let Some((slot, later)) = slots.split_first() else { return Some(at) };
    let matches_slot = || words.get(at).is_some_and(|word| word_matches_slot(word, slot));
    let is_punctuation_at = |at: usize| words.get(at).is_none_or(ProseWord::is_punctuation);
    match slot.kind {
        SlotKind::One => {
            if matches_slot() {
                match_end(words, at + 1, later)
            } else {
                None
            }
        }
        SlotKind::OneOrEnd if matches_slot() => match_end(words, at + 1, later),
        SlotKind::OneOrEnd => at.checked_sub(words.len()).map(|_| at),
        SlotKind::Optional => {
            let with = if matches_slot() { match_end(words, at + 1, later) } else { None };
            with.or_else(|| match_end(words, at, later))
        }
        SlotKind::Gap(longest) => {
            for skipped in at..=at + longest {
                if let Some(found) = match_end(words, skipped, later) {
                    return Some(found);
                }
                if is_punctuation_at(skipped) {
                    return None;
                }
            }
            None
        }
        SlotKind::End => (at..words.len()).all(is_punctuation_at).then_some(at),
    }
}

/// Returns whether a word matches one of the choices of a slot. This is the innermost loop, so it compares the first
/// byte of a choice before the rest.
fn word_matches_slot(word: &ProseWord, slot: &PatternSlot) -> bool {
    if !word.mask.intersects(slot.mask) {
        return false;
    }
    let bytes = word.text.as_bytes();
    let Some(first) = bytes.first() else { return false };
    slot.choices.as_bytes().split(|c| *c == b'/').any(|choice| match choice {
        b"#" => parse_number(&word.text).is_some_and(|value| value > 0),
        b"*" => !word.is_punctuation(),
        b"@" => word.is_tag(),
        [b'%', base @ ..] => {
            base.first() == Some(first) && core::str::from_utf8(base).is_ok_and(|base| is_verb_form(&word.text, base))
        }
        [same, ..] => same == first && choice == bytes,
        [] => false,
    })
}

/// Returns the text of the section `[name]`, up to the next section, or an empty text.
pub(crate) const fn section_text<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (line, later) = split_at_byte(rest, b'\n');
        if is_heading_of(line, name.as_bytes()) {
            return bytes_to_str(later.split_at(section_len(later)).0);
        }
        rest = later;
    }
    ""
}

const fn is_heading_of(line: &[u8], name: &[u8]) -> bool {
    let [b'[', inner @ .., b']'] = line else { return false };
    let (mut inner, mut name) = (inner, name);
    while let ([a, inner_rest @ ..], [b, name_rest @ ..]) = (inner, name) {
        if *a != *b {
            return false;
        }
        (inner, name) = (inner_rest, name_rest);
    }
    inner.is_empty() && name.is_empty()
}

const fn section_len(text: &[u8]) -> usize {
    let mut rest = text;
    let mut length = 0;
    while !rest.is_empty() && !matches!(rest, [b'[', ..]) {
        let (line, later) = split_at_byte(rest, b'\n');
        length += if later.is_empty() { rest.len() } else { line.len() + 1 };
        rest = later;
    }
    length
}

/// Returns the number of patterns in a text.
pub(crate) const fn count_patterns(text: &str) -> usize {
    let mut count = 0;
    let (mut pattern, mut rest) = split_first_pattern(text.as_bytes());
    while !pattern.is_empty() {
        count += 1;
        (pattern, rest) = split_first_pattern(rest);
    }
    count
}

/// Returns the number of slots of all patterns in a text.
pub(crate) const fn count_slots(text: &str) -> usize {
    let mut count = 0;
    let (mut pattern, mut rest) = split_first_pattern(text.as_bytes());
    while !pattern.is_empty() {
        count += count_slots_of(pattern);
        (pattern, rest) = split_first_pattern(rest);
    }
    count
}

const fn count_slots_of(pattern: &[u8]) -> usize {
    let mut count = 0;
    let mut rest = strip_anchor(pattern);
    while !rest.is_empty() {
        rest = split_first_slot(rest).1;
        count += 1;
    }
    count
}

/// Parses the slots of all patterns in a text.
pub(crate) const fn parse_slots<const N: usize>(text: &'static str) -> [PatternSlot; N] {
    let mut out = [PatternSlot { kind: SlotKind::One, choices: "", mask: WordMask::NONE }; N];
    let mut open: &mut [PatternSlot] = &mut out;
    let (pattern, mut rest) = split_first_pattern(text.as_bytes());
    let mut slots = strip_anchor(pattern);
    while let [place, later @ ..] = open {
        let (raw, after) = split_first_slot(slots);
        *place = parse_slot(raw);
        open = later;
        slots = after;
        if slots.is_empty() {
            let (pattern, next) = split_first_pattern(rest);
            slots = strip_anchor(pattern);
            rest = next;
        }
    }
    out
}

/// Parses the patterns in a text; `slots` are the slots that [`parse_slots`] returns for it.
pub(crate) const fn parse_patterns<const N: usize>(text: &str, slots: &[PatternSlot]) -> [WordPattern; N] {
    let empty = WordPattern {
        first_slot: 0,
        slot_count: 0,
        is_anchored: false,
        first_word_mask: WordMask::ANY,
        required_masks: [WordMask::ANY; 2],
    };
    let mut out = [empty; N];
    let mut open: &mut [WordPattern] = &mut out;
    let mut rest = text.as_bytes();
    let mut first_slot = 0;
    while let [place, later @ ..] = open {
        let (pattern, after) = split_first_pattern(rest);
        let slot_count = count_slots_of(pattern);
        let own_slots = slots.split_at(first_slot).1.split_at(slot_count).0;
        let is_anchored = matches!(pattern, [b'<', b' ', ..]);
        let (first_word_mask, required_masks) = masks_of(own_slots);
        *place = WordPattern { first_slot, slot_count, is_anchored, first_word_mask, required_masks };
        first_slot += slot_count;
        open = later;
        rest = after;
    }
    out
}

const fn masks_of(slots: &[PatternSlot]) -> (WordMask, [WordMask; 2]) {
    let (mut first, mut is_fixed, mut required) = (WordMask::NONE, false, [WordMask::ANY; 2]);
    let mut rest = slots;
    while let [slot, later @ ..] = rest {
        let is_required = matches!(slot.kind, SlotKind::One);
        if !is_fixed {
            first = first.union(slot.mask);
            is_fixed = is_required;
        }
        if is_required {
            let [last, _] = required;
            required = [slot.mask, last];
        }
        rest = later;
    }
    (if is_fixed { first } else { WordMask::ANY }, required)
}

const fn parse_slot(raw: &'static [u8]) -> PatternSlot {
    let (kind, choices) = match raw {
        b"$" => return PatternSlot { kind: SlotKind::End, choices: "", mask: WordMask::ANY },
        b".." => return PatternSlot { kind: SlotKind::Gap(4), choices: "", mask: WordMask::ANY },
        b"..." => return PatternSlot { kind: SlotKind::Gap(8), choices: "", mask: WordMask::ANY },
        [choices @ .., b'/', b'$'] => (SlotKind::OneOrEnd, choices),
        [choices @ .., b'?'] if !choices.is_empty() => (SlotKind::Optional, choices),
        choices => (SlotKind::One, choices),
    };
    PatternSlot { kind, choices: bytes_to_str(choices), mask: slot_mask(choices) }
}

const fn bytes_to_str(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

const fn strip_anchor(pattern: &[u8]) -> &[u8] {
    match pattern {
        [b'<', b' ', slots @ ..] => slots,
        slots => slots,
    }
}

/// Splits off the first pattern. It is empty at the end of the text.
const fn split_first_pattern(text: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = text;
    loop {
        rest = match rest {
            [b' ' | b'\n' | b'\r' | b'|', later @ ..] => later,
            [b'/', b'/', ..] => split_at_byte(rest, b'\n').1,
            _ => break,
        };
    }
    let line = split_at_byte(rest, b'\n').0;
    let pattern = split_at_byte(line, b'|').0;
    let after = rest.split_at(pattern.len()).1;
    (pattern.trim_ascii_end(), after)
}

/// Splits off the first slot. A character of a script without word breaks is a slot.
const fn split_first_slot(slots: &[u8]) -> (&[u8], &[u8]) {
    let (slot, rest) = match slots {
        [first, ..] if is_cjk_lead_byte(*first) && slots.len() >= 3 => slots.split_at(3),
        _ => slots.split_at(plain_slot_len(slots)),
    };
    (slot, rest.trim_ascii_start())
}

const fn plain_slot_len(slots: &[u8]) -> usize {
    let mut rest = slots;
    let mut length = 0;
    while let [c, later @ ..] = rest {
        if *c == b' ' || is_cjk_lead_byte(*c) {
            return length;
        }
        rest = later;
        length += 1;
    }
    length
}

/// Returns whether a UTF-8 sequence with this first byte is a Chinese, Japanese or Korean character.
const fn is_cjk_lead_byte(byte: u8) -> bool {
    matches!(byte, 0xe3..=0xed)
}

/// Returns the bytes before and after the first `mark`.
const fn split_at_byte(text: &[u8], mark: u8) -> (&[u8], &[u8]) {
    let mut rest = text;
    let mut length = 0;
    while let [c, later @ ..] = rest {
        if *c == mark {
            return (text.split_at(length).0, later);
        }
        rest = later;
        length += 1;
    }
    (text, &[])
}

/// Returns the mask of the words that a slot matches.
const fn slot_mask(slot: &[u8]) -> WordMask {
    let mut out = WordMask::NONE;
    let mut rest = slot;
    while !rest.is_empty() {
        let (choice, later) = split_at_byte(rest, b'/');
        out = out.union(match choice {
            b"#" => WordMask::NUMBER,
            b"*" => WordMask::ANY,
            b"@" => word_bytes_mask(crate::claim::text::prose_words::TAG_WORD.as_bytes()),
            [b'%', a, b, _, ..] => WordMask { prefix_bits: prefix_bit(*a, *b), suffix_bits: u64::MAX },
            [b'%', ..] => WordMask::ANY,
            word => word_bytes_mask(word),
        });
        rest = later;
    }
    out
}

const fn word_bytes_mask(word: &[u8]) -> WordMask {
    match word {
        [a, b, .., last] => WordMask { prefix_bits: prefix_bit(*a, *b), suffix_bits: suffix_bit(*last, word.len()) },
        [a, b] => WordMask { prefix_bits: prefix_bit(*a, *b), suffix_bits: suffix_bit(*b, 2) },
        [a] => WordMask { prefix_bits: prefix_bit(*a, 0), suffix_bits: suffix_bit(*a, 1) },
        [] => WordMask::NONE,
    }
}

const fn prefix_bit(first: u8, second: u8) -> u128 {
    1 << ((first as u32 * 29 + second as u32) % 127)
}

const fn suffix_bit(last: u8, length: usize) -> u64 {
    1 << ((last as usize * 7 + length) % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::text::prose_words::split_words;

    fn find(list: &PatternList, text: &str) -> Option<Range<usize>> {
        list.find(&split_words(text, 0))
    }

    // spec: S12
    #[test]
    fn patterns_match_words_verb_forms_gaps_and_numbers() {
        let text = "I am deliberately not outputting it";
        assert_eq!(find(&pattern_list!("not %output"), text), Some(3..5));
        assert_eq!(find(&pattern_list!("am .. it"), text), Some(1..6));
        assert_eq!(find(&pattern_list!("< we/i am still? deliberately"), text), Some(0..3));
        assert_eq!(find(&pattern_list!("output | it $"), text), Some(5..6));
        assert_eq!(find(&pattern_list!("# .. red"), "two of five are red"), Some(0..5));
        assert_eq!(find(&pattern_list!("# failed"), "0 failed"), None);
    }

    // spec: S12
    #[test]
    fn each_character_of_a_script_without_word_breaks_is_a_word() {
        assert_eq!(find(&pattern_list!("还没"), "测试还没通过"), Some(2..4));
        assert_eq!(find(&pattern_list!("지 않"), "완료되지 않았습니다"), Some(3..5));
    }

    // spec: S12
    #[test]
    fn a_section_ends_at_the_next_heading() {
        const TEXT: &str = "[a]\n// note\nx | y z\n\n[b]\nw\n";
        assert_eq!(count_patterns(section_text(TEXT, "a")), 2);
        assert_eq!(section_text(TEXT, "b"), "w\n");
        assert_eq!(section_text(TEXT, "c"), "");
    }
}
