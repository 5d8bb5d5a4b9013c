//! How much all of a loop may take: the flags that loops of every kind share.
use std::time::Duration;

use clap::Args;

use super::value_parsers::{parse_duration, parse_money, parse_token_limit};
use ralph_app::config::Settings;
use ralph_util::amounts::DollarAmount;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits")]
pub struct BudgetArgs {
    /// Most money in dollars, with retries and judges, as far as the agent tells it: 5, 0.25 [built-in: no limit]
    #[arg(long, value_name = "USD", allow_hyphen_values = true, value_parser = parse_money)]
    max_cost: Option<DollarAmount>,
    /// Most tokens, in and out together, as far as the agent tells them: 200000, 500k, 2M [built-in: no limit]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_token_limit)]
    max_tokens: Option<u64>,
    /// Longest time of everything together [built-in: 12h]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    max_duration: Option<Duration>,
}

impl BudgetArgs {
    /// Returns the most money, where it was said.
    pub fn max_cost(&self) -> Option<DollarAmount> {
        self.max_cost
    }

    /// Applies the flags as the highest layer.
    pub fn apply(&self, settings: &mut Settings) {
        let limits = &mut settings.limits;
        limits.max_cost_usd.set_from_flag(self.max_cost.map(Some), "--max-cost");
        limits.max_tokens.set_from_flag(self.max_tokens.map(Some), "--max-tokens");
        limits.max_duration.set_from_flag(self.max_duration, "--max-duration");
    }
}
