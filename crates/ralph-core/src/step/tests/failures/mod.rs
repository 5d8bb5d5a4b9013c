//! Failed attempts: retries, rate limits, stalls, and what follows.
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
pub(crate) mod failure;
pub(crate) mod login;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
pub(crate) mod rate_limit;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
pub(crate) mod recovery;
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
pub(crate) mod retry;
pub(crate) mod stall;
