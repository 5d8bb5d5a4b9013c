//! The rules of the loop. Everything here decides and nothing here acts: no files, no clock, no randomness,
//! no threads. The crate is `no_std` so that the compiler holds that promise.
//!
//! Start at [`step::step`]: a [`state::Loop`] and an [`event::Event`] go in, the next loop and its
//! [`effect::Effect`]s come out.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod attempt;
pub mod backoff;
pub mod baseline;
pub mod budget;
pub mod claim;
pub mod commit;
pub mod contradiction;
pub mod criterion;
pub mod duration;
pub mod duty;
pub mod effect;
pub mod event;
pub mod evidence;
pub mod execution;
pub mod fact;
pub mod isolation;
pub mod journal;
pub mod judge;
pub mod limits;
pub mod order;
pub mod outcome;
pub mod pipeline;
pub mod policy;
pub mod prompt;
pub mod receipt;
pub mod redact;
pub mod retention;
pub mod seal;
pub mod session;
pub mod stall;
pub mod state;
pub mod stats;
pub mod step;
pub mod task;
pub mod template;
pub mod text;
