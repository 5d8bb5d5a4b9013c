//! Word lists that show how a sentence uses a tag. Add a new wording to the matching list. The rules that use the lists
//! are in `sentence_mood`, `surrounding_lines`, `tag_usage` and `retraction`.
//! The pattern syntax is described at [`super::prose_words::find_match`].

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
