//! The families of cue words by which a sentence shows what it does with a tag. A new wording goes into
//! its family; the rules that use the families are in `mood`, `lead` and `retract`.
//! The pattern signs are explained at [`super::words::find`].

mod giving;
mod refusing;
mod telling;
mod withdrawing;

pub(crate) use giving::{DONE, GIVE, HOLDS, LABEL, NOW, ORDER, ORDER_OR_NOUN, REFERRING, SIGNAL};
pub(crate) use refusing::{
    ALL_DONE, CONDITIONS, HOLDING_BACK, LATER, NEGATORS, PAST, TIMES, UNDONE, WITHHELD, WORK_OPEN, WRONG,
};
pub(crate) use telling::{
    DANGLING, DUTY, ELSEWHERE, EXAMPLE, FORWARD, OTHER_TIME, PREDICATE, PROTOCOL, REPORTS, SUBORDINATE,
};
pub(crate) use withdrawing::{BACKWARD, GOES_ON, NO_WITHDRAWAL, SECOND_LOOK, VOID, WITHDRAW};
