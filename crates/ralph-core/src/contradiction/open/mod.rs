//! The families of statements that say work is open. A new wording goes into its family.

mod admissions;
mod checks;
mod choices;
mod denials;
mod goals;
mod labels;
mod makeshift;
mod parts;
mod plans;
mod quantities;
mod speaker;
mod states;
mod symptoms;
mod tickets;

use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::pattern::{Marked, Pattern};
use crate::claim::words::Word;

pub(crate) use plans::planned;

/// A place that may say that work is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) range: Range<usize>,
    pub(crate) sort: Sort,
}

/// What kind of statement it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A label that opens a list of work.
    Label,
    /// Something is in a bad state.
    State,
    /// Something good is denied.
    Denial,
    /// A count in a test summary.
    Count,
    /// Less than the whole is done.
    Part,
    /// The speaker says what is amiss; the words inside settle nothing.
    Admission,
}

const FAMILIES: &[(&[Pattern], Sort)] = &[
    (labels::LABELS, Sort::Label),
    (states::STATES, Sort::State),
    (denials::DENIALS, Sort::Denial),
    (checks::FAILING, Sort::State),
    (checks::COUNTS, Sort::Count),
    (quantities::LESS, Sort::Part),
    (plans::INLINE, Sort::Admission),
    (admissions::RESOURCES, Sort::Admission),
    (admissions::AROUND, Sort::Admission),
    (admissions::GUESSES, Sort::Admission),
    (admissions::HANDED_ON, Sort::Admission),
    (admissions::NEEDS, Sort::Admission),
    (choices::CHOICES, Sort::Admission),
    (choices::NOBODY, Sort::Admission),
    (choices::UNABLE, Sort::Denial),
    (choices::WRONG, Sort::State),
    (choices::WAITING, Sort::Admission),
    (makeshift::MADE_UP, Sort::Admission),
    (makeshift::FORCED, Sort::Admission),
    (makeshift::HOPES, Sort::Admission),
    (makeshift::CHORES, Sort::Admission),
    (symptoms::PROBLEMS, Sort::State),
    (symptoms::STAND_INS, Sort::State),
];

/// Returns the places in a sentence that may say that work is open.
pub(crate) fn hits(sentence: &[Word]) -> Vec<Hit> {
    let marked = Marked::new(sentence);
    let mut out: Vec<Hit> = Vec::new();
    for (list, sort) in FAMILIES {
        let found = list.iter().filter_map(|pattern| pattern.find(&marked));
        out.extend(found.map(|range| Hit { range, sort: *sort }));
    }
    out.extend(parts::part_of_whole(&marked));
    out.extend(parts::of_whole(&marked));
    out.extend(parts::all_except(&marked));
    out.extend(parts::percentage(&marked));
    out.extend(goals::missed(sentence));
    out.extend(goals::against_task(&marked));
    out.extend(speaker::denial(&marked));
    out.extend(tickets::by_form(&marked));
    out
}
