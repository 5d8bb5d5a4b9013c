//! Tests of the state machine, one file per topic.
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod agent_report;
mod agent_wait;
mod budget;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
pub(crate) mod builders;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod command;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod continuation;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod contradiction;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod decision;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod denied_actions;
mod explained_walk;
pub(crate) mod failures;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod iterations;
mod opening;
mod parking;
mod preparing;
mod proof;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod random_walk;
mod rejection;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod session;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod stepping;
