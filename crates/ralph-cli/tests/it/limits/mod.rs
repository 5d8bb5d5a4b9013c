//! Limits: budgets, rate limits, stalls, timeouts and memory.
mod budgets;
pub(crate) mod clock_changes;
mod memory_limit;
mod rate_limits;
mod shared_budgets;
mod stalls;
mod timeouts;
