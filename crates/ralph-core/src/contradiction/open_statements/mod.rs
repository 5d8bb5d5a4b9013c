//! Statements that say that work is open, grouped into lists of patterns. Add a new wording to the matching list.

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

/// A range of words that may say that work is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenWorkHit {
    pub(crate) range: Range<usize>,
    pub(crate) kind: StatementKind,
}

/// The kind of a statement of open work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementKind {
    /// A label of a list of open work.
    Label,
    /// Something is in a bad state.
    State,
    /// Something was not achieved.
    Denial,
    /// A count in a test summary.
    Count,
    /// Only a part is done.
    Partial,
    /// The speaker admits a problem. Negations inside the statement do not settle it.
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

/// Returns the parts of a sentence that may say that work is open.
pub(crate) fn find_hits(sentence: &[ProseWord]) -> Vec<OpenWorkHit> {
    let marked = MaskedSentence::new(sentence);
    let mut out: Vec<OpenWorkHit> = Vec::new();
    for (list, kind) in PATTERN_FAMILIES {
        let found = list.iter().filter_map(|pattern| pattern.find_in(&marked));
        out.extend(found.map(|range| OpenWorkHit { range, kind: *kind }));
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
