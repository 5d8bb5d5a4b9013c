//! The families of cue words by which a sentence shows what it does with a tag. A new wording goes into
//! its family; the rules that use the families are in `mood`, `lead` and `retract`.
//! The pattern signs are explained at [`super::words::find`].

mod refusal_words;
mod report_words;
mod signal_words;
mod withdrawal_words;

pub(crate) use refusal_words::{
    CONDITION_PHRASES, IMPLICIT_WITHHOLDING, NEGATORS, NOTHING_UNDONE, PAST_TENSE_VERBS, POSTPONEMENTS,
    SIGNAL_WOULD_BE_WRONG, TIME_CONJUNCTIONS, UNDONE_WORK, WITHHOLDING_SIGNAL, WORK_NOT_DONE,
};
pub(crate) use report_words::{
    AGENT_DUTIES, CONTINUATION_WORDS, DANGLING_WORDS, EXAMPLE_PHRASES, FORWARD_REFERENCES, OTHER_SPEAKERS,
    OTHER_TIME_PHRASES, PREDICATE_VERBS, PROTOCOL_DESCRIPTIONS, REPORTING_VERBS,
};
pub(crate) use signal_words::{
    CONDITION_MET, FINAL_LABELS, GIVEN_NOW, IMPERATIVE_VERBS, IMPERATIVE_VERBS_OR_NOUNS, PROTOCOL_REFERENCES,
    SIGNAL_NOUNS, SIGNAL_VERBS, WORK_DONE,
};
pub(crate) use withdrawal_words::{
    BACKWARD_REFERENCES, CONTINUED_WORK, FALSE_WITHDRAWALS, INVALIDATIONS, RECONSIDERATIONS, WITHDRAWALS,
};
