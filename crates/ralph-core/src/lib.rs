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
mod checks;
pub mod claim;
pub mod continuation;
pub mod contradiction;
pub mod control_command;
pub mod conversation;
pub mod criterion;
pub mod decision;
pub mod duration;
pub mod effect;
pub mod event;
pub mod evidence;
pub mod explanation;
pub mod fact;
pub mod judge;
mod limits;
pub mod loop_state;
pub mod notification;
pub mod outcome;
pub mod pipeline;
pub mod policy;
pub mod prompt;
pub mod protected;
pub mod receipt;
mod records;
pub mod redact;
pub mod session_loop;
pub mod step;
pub mod task;
pub mod text;
pub mod workflow;

// The folders group the modules for readers of the source; callers find each module at the root of the crate.
pub use checks::{agent_work_commit, baseline, check_isolation, commit_requirement, seal};
pub use limits::{backoff, budget, limit_change, rate_limits, stall};
pub use pipeline::role_duty;
pub use prompt::prompt_variables;
pub use records::{execution_log, journal, retention, stats};
