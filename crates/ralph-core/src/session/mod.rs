//! The loop inside a running agent session: the session reports what happens to it, and the same machine that drives
//! agents headless ([`crate::step`]) decides whether it may stop. What is here only turns the one into the other.
mod answer;
mod arguments;
mod decide;
mod notice;
mod state;
mod summons;

#[cfg(test)]
mod tests;

pub use answer::{Act, Answer};
pub use arguments::{ArgumentError, Arguments, parse_arguments};
pub use decide::{Cap, Counting, Happening, Idle, Moment, RECOVERY_MS, decide, is_abort};
pub use notice::{Notice, Variant};
pub use state::{Plan, SessionLoop, begin};
pub use summons::{Summons, summons};
