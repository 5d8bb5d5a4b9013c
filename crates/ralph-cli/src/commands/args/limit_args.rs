//! Flags that limit an agent; shared by every command that runs a loop.
use std::time::Duration;

use clap::Args;

use crate::commands::args::budget_args::BudgetArgs;
use crate::commands::args::value_parsers::{
    parse_duration, parse_log_size, parse_memory_size, parse_retries, parse_stall_limit,
};
use ralph_app::config::Settings;
use ralph_util::amounts::DollarAmount;
use ralph_util::memory_size::MemorySize;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// How often a failed agent is started again within one iteration [built-in: 3]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_retries)]
    max_retries: Option<u32>,
    /// Time limit for one iteration [built-in: 60m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Time limit without output from the agent [built-in: 10m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    idle_timeout: Option<Duration>,
    /// How long the agent may keep running after its final result [built-in: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    after_result: Option<Duration>,
    /// Total time limit for rate limit waits [built-in: 6h]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    max_rate_limit_wait: Option<Duration>,
    /// Time between asking the agent to stop and killing it [built-in: 5s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    grace: Option<Duration>,
    /// Ends the run after N iterations in a row without changes; 0: never [built-in: 3; plan, build, prompt: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_stall_limit)]
    stall: Option<u32>,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Kills the agent if it and its descendants use more memory than this: 512M, 4G; a bare number is MB
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = parse_memory_size)]
    max_memory: Option<MemorySize>,
    /// Size limit for the raw logs of the run; of longer output, beginning and end are kept [built-in: 1G]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = parse_log_size)]
    log_limit: Option<MemorySize>,
}

impl LimitArgs {
    /// Returns the spending limit, if one was given.
    pub fn max_cost(&self) -> Option<DollarAmount> {
        self.budget.max_cost()
    }

    /// Applies the flags as the highest configuration layer.
    pub fn apply(&self, settings: &mut Settings) {
        let limits = &mut settings.limits;
        limits.max_retries.set_from_flag(self.max_retries, "--max-retries");
        limits.iteration_timeout.set_from_flag(self.timeout, "--timeout");
        limits.idle_timeout.set_from_flag(self.idle_timeout, "--idle-timeout");
        limits.after_result.set_from_flag(self.after_result, "--after-result");
        limits.max_rate_limit_wait.set_from_flag(self.max_rate_limit_wait, "--max-rate-limit-wait");
        limits.grace.set_from_flag(self.grace, "--grace");
        limits.max_memory.set_from_flag(self.max_memory.map(Some), "--max-memory");
        limits.log_limit.set_from_flag(self.log_limit, "--log-limit");
        settings.stall_iterations.set_from_flag(self.stall, "--stall");
        self.budget.apply(settings);
    }
}
