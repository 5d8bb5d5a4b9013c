//! Budget flags, shared by all kinds of loops.
use std::time::Duration;

use clap::Args;

use crate::commands::args::value_parsers::{parse_duration, parse_money, parse_token_limit};
use ralph_app::config::Settings;
use ralph_util::amounts::DollarAmount;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits")]
pub struct BudgetArgs {
    /// Spending limit in US dollars, as reported by agents: 5, 0.25; includes retries and judges [built-in: no limit]
    #[arg(long, value_name = "USD", allow_hyphen_values = true, value_parser = parse_money)]
    max_cost: Option<DollarAmount>,
    /// Token limit, input plus output, as reported by agents: 200000, 500k, 2M [built-in: no limit]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_token_limit)]
    max_tokens: Option<u64>,
    /// Total time limit [built-in: 12h]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    max_duration: Option<Duration>,
}

impl BudgetArgs {
    /// Returns the spending limit, if one was given.
    pub fn max_cost(&self) -> Option<DollarAmount> {
        self.max_cost
    }

    /// Applies the flags as the highest configuration layer.
    pub fn apply(&self, settings: &mut Settings) {
        let limits = &mut settings.limits;
        limits.max_cost_usd.set_from_flag(self.max_cost.map(Some), "--max-cost");
        limits.max_tokens.set_from_flag(self.max_tokens.map(Some), "--max-tokens");
        limits.max_duration.set_from_flag(self.max_duration, "--max-duration");
    }
}
