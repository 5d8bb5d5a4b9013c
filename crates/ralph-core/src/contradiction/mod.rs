//! Searches a message that claims completion for statements that work is open. Whole sentences count: a word such as
//! "failed" is not a contradiction if the sentence is about a repair, the past, or the behaviour of the program.

mod log_blocks;
mod open_statements;
mod result_tables;
mod sections;
mod settled_statements;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use serde::{Deserialize, Serialize};

use crate::claim::parsed_message::ParsedMessage;
use crate::claim::prose_words::{ProseWord, find_match as find_pattern, split_words};
use crate::claim::quote::{quote_sentence_or_phrase, quote_without_tags};
use crate::claim::slice_or_empty;
use sections::{MessageSentence, SectionKind};

/// A statement that work is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// The decisive words.
    pub phrase: String,
    /// The sentence that contains them.
    pub sentence: String,
}

/// Returns the first statement of open work. `extra` are additional phrases from the user's settings.
pub(crate) fn find_contradiction(view: &ParsedMessage<'_>, extra: &[String]) -> Option<Contradiction> {
    let all = sections::prose_sentences(view);
    let extra: Vec<String> =
        extra.iter().map(|phrase| phrase_to_pattern(phrase)).filter(|phrase| !phrase.is_empty()).collect();
    let mut spoken =
        all.iter().enumerate().filter(|(_, sentence)| !sentence.words.iter().all(ProseWord::is_punctuation));
    let in_prose = spoken.find_map(|(at, sentence)| {
        let next = all.get(at + 1).map_or(&[][..], |next| next.words.as_slice());
        let hit = find_in_section(sentence, next, &extra)?;
        Some(build_contradiction(view, sentence, &hit))
    });
    in_prose.or_else(|| {
        let line = result_tables::find_open_row(view).or_else(|| log_blocks::find_failure_line(view, &all))?;
        let text = quote_without_tags(slice_or_empty(view.text, line));
        Some(Contradiction { phrase: text.clone(), sentence: text })
    })
}

fn find_in_section(sentence: &MessageSentence, next: &[ProseWord], extra: &[String]) -> Option<Range<usize>> {
    match sentence.section {
        SectionKind::Settled => None,
        SectionKind::Plain => find_statement(&sentence.words, next, extra),
        SectionKind::Planned => {
            open_statements::find_planned_work(&sentence.words).or_else(|| find_statement(&sentence.words, next, extra))
        }
    }
}

/// Returns the range of words in a single sentence that say that work is open.
pub(crate) fn find_open_work(sentence: &[ProseWord]) -> Option<Range<usize>> {
    find_statement(sentence, &[], &[])
}

fn find_statement(sentence: &[ProseWord], next: &[ProseWord], extra: &[String]) -> Option<Range<usize>> {
    let from_user = extra.iter().filter_map(|phrase| find_pattern(sentence, phrase));
    let built_in = open_statements::find_hits(sentence);
    let found = from_user
        .map(|range| open_statements::OpenWorkHit { range, kind: open_statements::StatementKind::State })
        .chain(built_in);
    found.into_iter().find(|hit| !settled_statements::is_settled(sentence, hit, next)).map(|hit| hit.range)
}

/// Converts a user's phrase into a pattern of plain words.
fn phrase_to_pattern(phrase: &str) -> String {
    let mut out = String::new();
    for word in split_words(phrase, 0) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word.text);
    }
    out
}

fn build_contradiction(view: &ParsedMessage<'_>, sentence: &MessageSentence, hit: &Range<usize>) -> Contradiction {
    let start = sentence.words.first().map_or(0, |word| word.offset);
    let from = sentence.words.get(hit.start).map_or(start, |word| word.offset);
    let to = sentence.words.get(hit.end).map_or(sentence.end, |word| word.offset);
    let phrase = slice_or_empty(view.text, from..to);
    let sentence = quote_sentence_or_phrase(slice_or_empty(view.text, start..sentence.end), phrase);
    Contradiction { phrase: quote_without_tags(phrase), sentence }
}
