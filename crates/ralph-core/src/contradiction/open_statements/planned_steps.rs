//! Planned steps that are work on the task, as opposed to ideas or chores for the reader.

use core::ops::Range;

use crate::claim::pattern::{MaskedSentence, WordPattern, patterns};
use crate::claim::prose_words::{ProseWord, has_match};

macro_rules! work {
    ($($before:expr),*) => { concat!($($before,)* "implement/fix/finish/complete/wire/port/translate/\
        debug/resolve/repair/unskip/re-enable/\
hook/connect/unblock") };
}

const WORK_STEPS: &[WordPattern] = patterns![
    work!("< also/then/first/finally? "),
    "< also/then/first/finally? add/write/migrate/replace/cover/handle/run/update/make/get/address/\
        investigate/convert/remove ... \
        test/tests/missing/remaining/failing/placeholder/placeholders/stub/stubs/rest/required/real/\
        actual/todo/todos/\
        pass/green/error/errors/last/other/suite",
    "need/needs/must/has/have to",
    "still",
];

/// Plans that are a single sentence.
pub(crate) const INLINE_PLANS: &[WordPattern] =
    patterns![work!("next up/on/steps/step : also/then? "), "< next up/on : add/write/migrate/replace/cover/handle",];

/// Returns the words of a next-step item that require work on the task.
pub(crate) fn find_planned_work(item: &[ProseWord]) -> Option<Range<usize>> {
    const OPTIONAL_WORDS: &[&str] = &[
        "optional/optionally/consider/maybe/could/if/nice/eventually/you/your/someday/perhaps/possibly/\
        might/whenever/later",
        "out of scope",
        "not required/needed/necessary",
    ];
    let marked = MaskedSentence::new(item);
    let step = WORK_STEPS.iter().find_map(|pattern| pattern.find_in(&marked))?;
    (!has_match(item, OPTIONAL_WORDS)).then_some(step)
}
