//! Steps of a plan that are work on the task, and no ideas or chores for the reader.

use core::ops::Range;

use crate::claim::pattern::{Marked, Pattern, patterns};
use crate::claim::words::{Word, has};

macro_rules! work {
    ($($before:expr),*) => { concat!($($before,)* "implement/fix/finish/complete/wire/port/translate/\
        debug/resolve/repair/unskip/re-enable/\
hook/connect/unblock") };
}

const STEPS: &[Pattern] = patterns![
    work!("< also/then/first/finally? "),
    "< also/then/first/finally? add/write/migrate/replace/cover/handle/run/update/make/get/address/\
        investigate/convert/remove ... \
        test/tests/missing/remaining/failing/placeholder/placeholders/stub/stubs/rest/required/real/\
        actual/todo/todos/\
        pass/green/error/errors/last/other/suite",
    "need/needs/must/has/have to",
    "still",
];

/// A plan that a sentence tells in one go.
pub(crate) const INLINE: &[Pattern] = patterns![
    work!("next up/on/steps/step : also/then? "),
    "< next up/on : add/write/migrate/replace/cover/handle",
];

/// Returns where an item of a list of next steps asks for work on the task.
pub(crate) fn planned(item: &[Word]) -> Option<Range<usize>> {
    const FREE: &[&str] = &[
        "optional/optionally/consider/maybe/could/if/nice/eventually/you/your/someday/perhaps/possibly/\
        might/whenever/later",
        "out of scope",
        "not required/needed/necessary",
    ];
    let marked = Marked::new(item);
    let step = STEPS.iter().find_map(|pattern| pattern.find(&marked))?;
    (!has(item, FREE)).then_some(step)
}
