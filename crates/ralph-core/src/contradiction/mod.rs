//! Looks in a message that claims completion for statements that work is open. It reads whole
//! sentences: a word such as "failed" is no contradiction when the sentence tells of a repair, of the
//! past, or of what the program does.

mod logs;
mod open;
mod sections;
mod settled;
mod tables;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use serde::{Deserialize, Serialize};

use crate::claim::cut;
use crate::claim::place::View;
use crate::claim::quote::{quoted, quoted_around};
use crate::claim::words::{Word, find as find_pattern, words};
use sections::{Section, Sentence};

/// A statement that work is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// The words that say it.
    pub phrase: String,
    /// The sentence they stand in.
    pub sentence: String,
}

/// Returns the first statement of open work; `extra` are the user's own phrases.
pub(crate) fn find(view: &View<'_>, extra: &[String]) -> Option<Contradiction> {
    let all = sections::prose(view);
    let extra: Vec<String> =
        extra.iter().map(|phrase| pattern(phrase)).filter(|phrase| !phrase.is_empty()).collect();
    let mut spoken = all.iter().enumerate().filter(|(_, sentence)| !sentence.words.iter().all(Word::is_mark));
    let told = spoken.find_map(|(at, sentence)| {
        let next = all.get(at + 1).map_or(&[][..], |next| next.words.as_slice());
        let hit = in_section(sentence, next, &extra)?;
        Some(report(view, sentence, &hit))
    });
    told.or_else(|| {
        let shown = tables::open_row(view).or_else(|| logs::failure(view, &all))?;
        let text = quoted(cut(view.text, shown));
        Some(Contradiction { phrase: text.clone(), sentence: text })
    })
}

fn in_section(sentence: &Sentence, next: &[Word], extra: &[String]) -> Option<Range<usize>> {
    match sentence.section {
        Section::Settled => None,
        Section::Plain => statement(&sentence.words, next, extra),
        Section::Planned => {
            open::planned(&sentence.words).or_else(|| statement(&sentence.words, next, extra))
        }
    }
}

/// Returns where a single sentence says that work is open.
pub(crate) fn open_work(sentence: &[Word]) -> Option<Range<usize>> {
    statement(sentence, &[], &[])
}

fn statement(sentence: &[Word], next: &[Word], extra: &[String]) -> Option<Range<usize>> {
    let own = extra.iter().filter_map(|phrase| find_pattern(sentence, phrase));
    let built_in = open::hits(sentence);
    let found = own.map(|range| open::Hit { range, sort: open::Sort::State }).chain(built_in);
    found.into_iter().find(|hit| !settled::is_settled(sentence, hit, next)).map(|hit| hit.range)
}

/// Turns a phrase of the user into a pattern of plain words.
fn pattern(phrase: &str) -> String {
    let mut out = String::new();
    for word in words(phrase, 0) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word.text);
    }
    out
}

fn report(view: &View<'_>, sentence: &Sentence, hit: &Range<usize>) -> Contradiction {
    let start = sentence.words.first().map_or(0, |word| word.at);
    let from = sentence.words.get(hit.start).map_or(start, |word| word.at);
    let to = sentence.words.get(hit.end).map_or(sentence.end, |word| word.at);
    let phrase = cut(view.text, from..to);
    let sentence = quoted_around(cut(view.text, start..sentence.end), phrase);
    Contradiction { phrase: quoted(phrase), sentence }
}
