//! The families of statements that say work is open. A new wording goes into its family.

mod admissions;
mod denials;
mod failing_checks;
mod grammatical_forms;
mod labels;
mod makeshifts;
mod missed_goals;
mod partial_quantities;
mod partial_results;
mod planned_steps;
mod speaker_denials;
mod states;
mod symptoms;
mod undone_work;

use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::pattern::{MaskedSentence, WordPattern};
use crate::claim::prose_words::ProseWord;

pub(crate) use planned_steps::find_planned_work;

/// A place that may say that work is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenWorkHit {
    pub(crate) range: Range<usize>,
    pub(crate) kind: StatementKind,
}

/// What kind of statement it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementKind {
    /// A label that opens a list of work.
    Label,
    /// Something is in a bad state.
    State,
    /// Something good is denied.
    Denial,
    /// A count in a test summary.
    Count,
    /// Less than the whole is done.
    Partial,
    /// The speaker says what is amiss; the words inside settle nothing.
    Admission,
}

const PATTERN_FAMILIES: &[(&[WordPattern], StatementKind)] = &[
    (labels::OPEN_WORK_LABELS, StatementKind::Label),
    (states::BAD_STATES, StatementKind::State),
    (denials::DENIALS, StatementKind::Denial),
    (failing_checks::FAILING_CHECKS, StatementKind::State),
    (failing_checks::FAILURE_COUNTS, StatementKind::Count),
    (partial_quantities::PARTIAL_QUANTITIES, StatementKind::Partial),
    (planned_steps::INLINE_PLANS, StatementKind::Admission),
    (admissions::EXHAUSTED_RESOURCES, StatementKind::Admission),
    (admissions::CIRCUMVENTED_CHECKS, StatementKind::Admission),
    (admissions::GUESSES, StatementKind::Admission),
    (admissions::DEFERRED_PARTS, StatementKind::Admission),
    (admissions::NEEDED_WORK, StatementKind::Admission),
    (undone_work::DECLINED_PARTS, StatementKind::Admission),
    (undone_work::NEGLECTED_WORK, StatementKind::Admission),
    (undone_work::INABILITIES, StatementKind::Denial),
    (undone_work::WRONG_BEHAVIOUR, StatementKind::State),
    (undone_work::WAITING_WORK, StatementKind::Admission),
    (makeshifts::PLACEHOLDERS, StatementKind::Admission),
    (makeshifts::FORCED_PASSES, StatementKind::Admission),
    (makeshifts::UNVERIFIED_HOPES, StatementKind::Admission),
    (makeshifts::REMAINING_CHORES, StatementKind::Admission),
    (symptoms::REPORTED_PROBLEMS, StatementKind::State),
    (symptoms::STAND_INS, StatementKind::State),
];

/// Returns the places in a sentence that may say that work is open.
pub(crate) fn find_hits(sentence: &[ProseWord]) -> Vec<OpenWorkHit> {
    let marked = MaskedSentence::new(sentence);
    let mut out: Vec<OpenWorkHit> = Vec::new();
    for (list, sort) in PATTERN_FAMILIES {
        let found = list.iter().filter_map(|pattern| pattern.find_in(&marked));
        out.extend(found.map(|range| OpenWorkHit { range, kind: *sort }));
    }
    out.extend(partial_results::find_part_of_whole(&marked));
    out.extend(partial_results::find_whole_before_part(&marked));
    out.extend(partial_results::find_exception(&marked));
    out.extend(partial_results::find_partial_percentage(&marked));
    out.extend(missed_goals::find_missed_goal(sentence));
    out.extend(missed_goals::find_task_violation(&marked));
    out.extend(speaker_denials::find_speaker_denial(&marked));
    out.extend(grammatical_forms::find_by_form(&marked));
    out
}
