//! Searches a message that claims completion for statements that this work is open. Whole sentences count: a failure
//! that the sentence calls pre-existing, expected, fixed or out of scope is not a contradiction. The phrases are data,
//! see `claim::languages`.

mod message_sections;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use serde::{Deserialize, Serialize};

use crate::claim::languages::{LanguageTable, language_of};
use crate::claim::message::parsed_message::ParsedMessage;
use crate::claim::slice_or_empty;
use crate::claim::text::prose_words::{ProseWord, split_words};
use crate::claim::text::quote::{quote_sentence_or_phrase, quote_without_tags};
use message_sections::{MessageSentence, SectionKind, prose_sentences};

/// A statement that work is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// The decisive words.
    pub phrase: String,
    /// The sentence that contains them.
    pub sentence: String,
}

/// Returns the first statement of open work in the message of the tag at the byte `tag_offset`. `extra` are additional
/// phrases from the user's settings.
pub(crate) fn find_contradiction(
    view: &ParsedMessage<'_>,
    tag_offset: usize,
    extra: &[String],
) -> Option<Contradiction> {
    let sentences = prose_sentences(view, tag_offset);
    let extra: Vec<Vec<ProseWord>> =
        extra.iter().map(|phrase| split_words(phrase, 0)).filter(|phrase| !phrase.is_empty()).collect();
    sentences.iter().enumerate().find_map(|(at, sentence)| {
        let later = sentences.get(at + 1..).unwrap_or(&[]);
        let hit = find_in_sentence(sentence, later, &extra).or_else(|| find_failed_result(sentence, later))?;
        Some(build_contradiction(view, sentence, &hit))
    })
}

/// Returns whether a single sentence says that work is open.
pub(crate) fn is_open_work(sentence: &[ProseWord]) -> bool {
    find_statement(sentence, &[], language_of(sentence)).is_some()
}

fn find_in_sentence(
    sentence: &MessageSentence,
    later: &[MessageSentence],
    extra: &[Vec<ProseWord>],
) -> Option<Range<usize>> {
    let words = sentence.words.as_slice();
    if words.iter().all(ProseWord::is_punctuation) {
        return None;
    }
    let from_user = extra.iter().find_map(|phrase| find_phrase(words, phrase));
    let cues = language_of(words);
    let next = later.first();
    let next_words = next.map_or(&[][..], |next| next.words.as_slice());
    from_user.filter(|hit| !is_settled(words, hit, next_words, cues)).or_else(|| match sentence.section {
        SectionKind::Settled => None,
        SectionKind::OpenHeading if next.is_none_or(|next| cues.nothing_open.matches(&next.words)) => None,
        SectionKind::OpenHeading => Some(0..words.len()),
        SectionKind::Plain => find_statement(words, next_words, cues),
    })
}

/// Returns the failed result of a command, as in "`make test` -> FAIL", unless a later result passed.
fn find_failed_result(sentence: &MessageSentence, later: &[MessageSentence]) -> Option<Range<usize>> {
    let cues = language_of(&sentence.words);
    let hit = cues.failed_results.find(&sentence.words)?;
    let is_settled = sentence.section == SectionKind::Settled
        || is_settled(&sentence.words, &hit, &[], cues)
        || later.iter().any(|sentence| cues.passed_results.matches(&sentence.words));
    (!is_settled).then_some(hit)
}

/// Returns the range of words in a sentence that say that work is open.
fn find_statement(sentence: &[ProseWord], next: &[ProseWord], cues: &LanguageTable) -> Option<Range<usize>> {
    let is_settled_inside =
        |hit: &Range<usize>| sentence.get(hit.clone()).is_some_and(|inside| cues.settled_inside.matches(inside));
    let failing = cues.failing_checks.find_all(sentence).filter(|hit| !is_settled_inside(hit));
    cues.open_work.find_all(sentence).chain(failing).find(|hit| !is_settled(sentence, hit, next, cues))
}

/// Returns whether the statement at `hit` is denied, repaired, about the past, hypothetical, or not about this work.
fn is_settled(sentence: &[ProseWord], hit: &Range<usize>, next: &[ProseWord], cues: &LanguageTable) -> bool {
    let statement_range = statement_around(sentence, hit);
    let hit = hit.start - statement_range.start..hit.end - statement_range.start;
    let statement = sentence.get(statement_range.clone()).unwrap_or(sentence);
    let before = statement.get(..hit.start).unwrap_or(&[]);
    let rest = sentence.get(statement_range.start + hit.end..).unwrap_or(&[]);
    let is_still_open = cues.still_open.matches(statement.get(hit.start..).unwrap_or(&[]));
    (cues.settled.matches(statement) && !cues.unsure.matches(statement))
        || cues.settled_before.matches(last_clause(before))
        || (cues.settled_after.matches(rest) && !is_still_open)
        || (cues.repaired_next.matches(next) && !is_still_open)
}

/// Returns the range between semicolons that contains the hit.
fn statement_around(sentence: &[ProseWord], hit: &Range<usize>) -> Range<usize> {
    let ends = |word: &ProseWord| word.text == ";";
    let start = sentence.iter().take(hit.start).rposition(ends).map_or(0, |at| at + 1);
    let end = sentence.iter().skip(hit.end).position(ends).map_or(sentence.len(), |at| hit.end + at);
    start..end
}

fn last_clause(before: &[ProseWord]) -> &[ProseWord] {
    let start =
        before.iter().rposition(|word| matches!(word.text.as_str(), "," | "-" | ":" | "but" | "however" | "(" | "and"));
    before.get(start.map_or(0, |at| at + 1)..).unwrap_or(before)
}

/// Returns the first place where the words of a user's phrase occur.
fn find_phrase(words: &[ProseWord], phrase: &[ProseWord]) -> Option<Range<usize>> {
    let is_same = |part: &[ProseWord]| part.iter().zip(phrase).all(|(word, wanted)| word.text == wanted.text);
    words.windows(phrase.len()).position(is_same).map(|at| at..at + phrase.len())
}

fn build_contradiction(view: &ParsedMessage<'_>, sentence: &MessageSentence, hit: &Range<usize>) -> Contradiction {
    let start = sentence.words.first().map_or(0, |word| word.offset);
    let from = sentence.words.get(hit.start).map_or(start, |word| word.offset);
    let to = sentence.words.get(hit.end).map_or(sentence.end, |word| word.offset);
    let phrase = slice_or_empty(view.text, from..to);
    let sentence = quote_sentence_or_phrase(slice_or_empty(view.text, start..sentence.end), phrase);
    Contradiction { phrase: quote_without_tags(phrase), sentence }
}
