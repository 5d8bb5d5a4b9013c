//! Word patterns that are parsed at compile time. Bit masks reject most sentences without comparing strings; the
//! matches are the same as those of `prose_words::find_match`.

use alloc::vec::Vec;
use core::ops::Range;

use super::prose_words::{ProseWord, parse_number, word_matches_slot};

/// An approximate set of words: hashed bits of their first two bytes, and of their last byte and length.
#[derive(Debug, Clone, Copy)]
struct WordMask {
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
}

/// A compiled pattern; the syntax is described at [`super::prose_words::find_match`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordPattern {
    slots: &'static [PatternSlot],
    anchor: PatternAnchor,
    /// The words that the first matched word may be.
    first_word_mask: WordMask,
    /// The words of up to three slots that must match for the pattern to match.
    required_masks: [WordMask; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternAnchor {
    Start,
    None,
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
    Optional,
    /// Any words, up to this many.
    Gap(usize),
    End,
}

/// Compiles a pattern.
macro_rules! pattern {
    ($text:expr) => {{
        const SLOTS: [$crate::claim::pattern::PatternSlot; $crate::claim::pattern::count_slots($text)] =
            $crate::claim::pattern::parse_slots($text);
        $crate::claim::pattern::WordPattern::new($text, &SLOTS)
    }};
}
/// Compiles a slice of patterns.
macro_rules! patterns {
    ($($text:expr),* $(,)?) => { &[$($crate::claim::pattern::pattern!($text)),*] };
}
pub(crate) use {pattern, patterns};

/// A sentence with the masks of its words.
pub(crate) struct MaskedSentence<'a> {
    pub(crate) words: &'a [ProseWord],
    word_masks: Vec<WordMask>,
    combined_mask: WordMask,
}

impl<'a> MaskedSentence<'a> {
    pub(crate) fn new(words: &'a [ProseWord]) -> Self {
        let word_masks: Vec<WordMask> = words.iter().map(word_mask).collect();
        let combined_mask = word_masks.iter().fold(WordMask::NONE, |all, one| all.union(*one));
        Self { words, word_masks, combined_mask }
    }

    /// Returns the match of the first pattern in `list` that matches.
    pub(crate) fn find_any(&self, list: &[WordPattern]) -> Option<Range<usize>> {
        list.iter().find_map(|pattern| pattern.find_in(self))
    }

    fn slot_matches(&self, at: usize, slot: &PatternSlot) -> bool {
        self.word_masks.get(at).is_some_and(|mask| mask.intersects(slot.mask))
            && self.words.get(at).is_some_and(|word| word_matches_slot(word, slot.choices))
    }

    fn is_punctuation_at(&self, at: usize) -> bool {
        self.words.get(at).is_none_or(ProseWord::is_punctuation)
    }
}

/// Returns whether any pattern in `list` matches.
pub(crate) fn matches_any(words: &[ProseWord], list: &[WordPattern]) -> bool {
    !words.is_empty() && MaskedSentence::new(words).find_any(list).is_some()
}

impl WordPattern {
    /// Builds a pattern from its text and the slots that [`parse_slots`] parsed from it.
    pub(crate) const fn new(text: &'static str, slots: &'static [PatternSlot]) -> Self {
        let anchor = match text.as_bytes() {
            [b'<', b' ', ..] => PatternAnchor::Start,
            _ => PatternAnchor::None,
        };
        let (mut first, mut fixed, mut required_masks) = (WordMask::NONE, false, [WordMask::ANY; 3]);
        let mut rest = slots;
        while let [slot, later @ ..] = rest {
            let one = matches!(slot.kind, SlotKind::One);
            if !fixed {
                first = first.union(slot.mask);
                fixed = one;
            }
            if one {
                let [a, b, _] = required_masks;
                required_masks = [slot.mask, a, b];
            }
            rest = later;
        }
        Self { slots, anchor, first_word_mask: if fixed { first } else { WordMask::ANY }, required_masks }
    }

    /// Returns the first match of the pattern in the sentence.
    pub(crate) fn find_in(&self, sentence: &MaskedSentence<'_>) -> Option<Range<usize>> {
        if self.required_masks.iter().any(|mask| !mask.intersects(sentence.combined_mask)) {
            return None;
        }
        match self.anchor {
            PatternAnchor::Start => {
                self.match_at(sentence, sentence.words.iter().position(|word| !word.is_punctuation())?)
            }
            PatternAnchor::None => (0..sentence.words.len()).find_map(|at| self.match_at(sentence, at)),
        }
    }

    /// Matches the pattern at the word `at`.
    pub(crate) fn match_at(&self, sentence: &MaskedSentence<'_>, at: usize) -> Option<Range<usize>> {
        if !sentence.word_masks.get(at)?.intersects(self.first_word_mask) {
            return None;
        }
        match_end(sentence, at, self.slots).map(|end| at..end)
    }
}

/// Returns the end of the match of `slots` that starts at the word `at`.
fn match_end(sentence: &MaskedSentence<'_>, at: usize, slots: &[PatternSlot]) -> Option<usize> {
    let Some((slot, later)) = slots.split_first() else { return Some(at) };
    match slot.kind {
        SlotKind::One => {
            if sentence.slot_matches(at, slot) {
                match_end(sentence, at + 1, later)
            } else {
                None
            }
        }
        SlotKind::Optional => {
            let with = if sentence.slot_matches(at, slot) { match_end(sentence, at + 1, later) } else { None };
            with.or_else(|| match_end(sentence, at, later))
        }
        SlotKind::Gap(longest) => {
            for skipped in at..=at + longest {
                if let Some(found) = match_end(sentence, skipped, later) {
                    return Some(found);
                }
                if sentence.is_punctuation_at(skipped) {
                    return None;
                }
            }
            None
        }
        SlotKind::End => (at..sentence.words.len()).all(|at| sentence.is_punctuation_at(at)).then_some(at),
    }
}

/// Returns the number of slots in a pattern.
pub(crate) const fn count_slots(text: &str) -> usize {
    let mut rest = strip_anchor(text);
    let mut count = 0;
    while !rest.is_empty() {
        rest = split_first_slot(rest).1;
        count += 1;
    }
    count
}

/// Parses the slots of a pattern.
pub(crate) const fn parse_slots<const N: usize>(text: &'static str) -> [PatternSlot; N] {
    let mut out = [PatternSlot { kind: SlotKind::One, choices: "", mask: WordMask::NONE }; N];
    let mut open: &mut [PatternSlot] = &mut out;
    let mut rest = strip_anchor(text);
    while let [place, later @ ..] = open {
        let (raw, after) = split_first_slot(rest);
        *place = parse_slot(raw);
        open = later;
        rest = after;
    }
    out
}

const fn parse_slot(raw: &'static [u8]) -> PatternSlot {
    let (kind, choices) = match raw {
        b"$" => return PatternSlot { kind: SlotKind::End, choices: "", mask: WordMask::ANY },
        b".." => return PatternSlot { kind: SlotKind::Gap(4), choices: "", mask: WordMask::ANY },
        b"..." => return PatternSlot { kind: SlotKind::Gap(8), choices: "", mask: WordMask::ANY },
        [choices @ .., b'?'] if !choices.is_empty() => (SlotKind::Optional, choices),
        choices => (SlotKind::One, choices),
    };
    let text = match core::str::from_utf8(choices) {
        Ok(text) => text,
        Err(_) => "",
    };
    PatternSlot { kind, choices: text, mask: slot_mask(choices) }
}

const fn strip_anchor(text: &str) -> &[u8] {
    match text.as_bytes() {
        [b'<', b' ', slots @ ..] => slots,
        slots => slots,
    }
}

/// Splits off the first slot.
const fn split_first_slot(slots: &[u8]) -> (&[u8], &[u8]) {
    split_at_byte(slots, b' ')
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
            [b'#', ..] => WordMask::NUMBER,
            [b'*', ..] => WordMask::ANY,
            [b'%', a, b, _, ..] => WordMask { prefix_bits: prefix_bit(*a, *b), suffix_bits: u64::MAX },
            [b'%', ..] => WordMask::ANY,
            word => word_bytes_mask(word),
        });
        rest = later;
    }
    out
}

fn word_mask(word: &ProseWord) -> WordMask {
    let mask = word_bytes_mask(word.text.as_bytes());
    if parse_number(&word.text).is_some() { mask.union(WordMask { suffix_bits: 0, ..WordMask::NUMBER }) } else { mask }
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
    use crate::claim::prose_words::{find_match, split_words};

    // spec: S3, S7
    #[test]
    fn a_masked_search_finds_the_same_matches_as_a_plain_search() {
        let texts = [
            "I left two of the five tests red, and `make` fails.",
            "0 errors: all is emitted, nothing is left to do (yet).",
            "Die Prüfung läuft noch nicht.",
            "",
        ];
        macro_rules! both {
            ($($text:literal),* $(,)?) => { ([$($text),*], patterns![$($text),*]) };
        }
        let (sources, patterns): (_, &[WordPattern]) = both![
            "< i/we left",
            "left .. red",
            "# .. tests red",
            "`",
            "nothing? is left",
            "is/are .. %emit",
            "to do (",
            "all ... do $",
            "noch? nicht",
            "%emit ,",
            "läuft/x",
            ".. left",
            "# errors :",
            "*",
        ];
        for text in texts {
            let words = split_words(text, 0);
            for (pattern, source) in patterns.iter().zip(sources) {
                let found = pattern.find_in(&MaskedSentence::new(&words));
                assert_eq!(found, find_match(&words, source), "{source} in {text}");
            }
        }
    }
}
