//! The limits of a run: budgets, rate limits, delays between retries, and stall detection.
pub mod backoff;
pub mod budget;
pub mod limit_change;
pub mod rate_limits;
pub mod stall;
