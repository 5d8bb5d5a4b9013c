//! How claims are checked: the flags of every command that has checks.
use std::time::Duration;

use clap::Args;
use ralph_core::check_isolation::CheckIsolation;

use super::value_parsers::parse_duration;
use ralph_app::config::Settings;

/// What holds for claims whatever their criteria are.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Proof")]
pub struct ProofArgs {
    /// Files that must not change before a claim, as in a .gitignore, in place of the configured ones; repeat for more
    #[arg(long, value_name = "GLOB")]
    guard: Vec<String>,
    /// Checks the claimed commit in a fresh checkout: what is not committed does not count
    #[arg(long)]
    clean: bool,
    /// Refuses to begin where nothing more than the agent's own word would decide
    #[arg(long)]
    require_criteria: bool,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Proof")]
pub struct CheckArgs {
    /// Longest time for one check, whatever the configuration says of it [built-in: 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    check_timeout: Option<Duration>,
    #[command(flatten)]
    proof: ProofArgs,
    /// Does not run the checks once before the first iteration
    #[arg(long, overrides_with = "baseline")]
    no_baseline: bool,
    /// Runs the checks once before the first iteration: one that passes already proves nothing [built-in]
    #[arg(long, overrides_with = "no_baseline")]
    baseline: bool,
}

impl ProofArgs {
    pub fn apply(&self, settings: &mut Settings) {
        let verification = &mut settings.verification;
        verification.guard.set_from_flag((!self.guard.is_empty()).then(|| self.guard.clone()), "--guard");
        verification.isolation.set_from_flag(self.clean.then_some(CheckIsolation::Clean), "--clean");
        verification.require_criteria.set_from_flag(self.require_criteria.then_some(true), "--require-criteria");
    }
}

impl CheckArgs {
    /// Changes the checks that were chosen. They stay the words of whoever wrote them, who must be trusted.
    pub fn apply(&self, settings: &mut Settings) {
        self.proof.apply(settings);
        let verification = &mut settings.verification;
        verification.baseline.set_from_flag(self.no_baseline.then_some(false), "--no-baseline");
        verification.baseline.set_from_flag(self.baseline.then_some(true), "--baseline");
        let Some(time) = self.check_timeout else { return };
        let timeout_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        settings.checks.value.iter_mut().for_each(|check| check.criterion.set_timeout(timeout_ms));
    }
}
