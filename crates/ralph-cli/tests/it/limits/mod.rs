//! Limits: budgets, rate limits, waits of agents, stalls, timeouts and memory.
mod agent_waits;
mod budgets;
pub(crate) mod clock_changes;
mod memory_limit;
mod parking;
mod rate_limits;
mod shared_budgets;
mod stalls;
mod timeouts;
mod unbounded_reads;
