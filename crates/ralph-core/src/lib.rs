//! The rules of the loop. This crate makes decisions and performs no effects: no files, no clock, no randomness, no
//! threads. It is `no_std`, so that the compiler enforces this.
//!
//! Start at [`step::step`]: it takes a [`loop_state::LoopState`] and an [`event::Event`], and returns the next state
//! and its [`effect::Effect`]s.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod attempt;
pub mod backoff;
pub mod baseline;
pub mod budget;
pub mod check_isolation;
pub mod claim;
pub mod commit_requirement;
pub mod contradiction;
pub mod control_command;
pub mod criterion;
pub mod duration;
pub mod effect;
pub mod event;
pub mod evidence;
pub mod execution_log;
pub mod fact;
pub mod journal;
pub mod judge;
pub mod loop_state;
pub mod outcome;
pub mod pipeline;
pub mod policy;
pub mod prompt;
pub mod prompt_variables;
pub mod rate_limits;
pub mod receipt;
pub mod redact;
pub mod retention;
pub mod role_duty;
pub mod seal;
pub mod session_loop;
pub mod stall;
pub mod stats;
pub mod step;
pub mod task;
pub mod text;
