//! How checks run: the flags of every command that has checks.
use std::time::Duration;

use clap::Args;

use super::values::time;
use crate::config::Settings;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Proof")]
pub struct CheckArgs {
    /// Longest time for one check, whatever the configuration says of it [built-in: 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time)]
    check_timeout: Option<Duration>,
}

impl CheckArgs {
    /// Changes the checks that were chosen. They stay the words of whoever wrote them, who must be trusted.
    pub fn apply(&self, settings: &mut Settings) {
        let Some(time) = self.check_timeout else { return };
        let timeout_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        settings.checks.value.iter_mut().for_each(|check| check.criterion.limit_time(timeout_ms));
    }
}
