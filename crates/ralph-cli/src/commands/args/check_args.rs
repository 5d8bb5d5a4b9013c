//! Flags that control how claims are verified; shared by every command that has checks.
use std::time::Duration;

use clap::Args;
use ralph_core::check_isolation::CheckIsolation;

use crate::commands::args::judge_args::JudgeArgs;
use crate::commands::args::value_parsers::parse_duration;
use ralph_app::config::Settings;

/// Verification flags that do not depend on the criteria.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Proof")]
pub struct ProofArgs {
    /// Files that must not change before a claim, as a .gitignore pattern; replaces the configured ones; repeat for
    /// more
    #[arg(long, value_name = "GLOB")]
    guard: Vec<String>,
    /// Sealed files and protected tests that the work may change, as a .gitignore pattern; replaces the configured
    /// ones; repeat for more
    #[arg(long, value_name = "GLOB")]
    allow_changes: Vec<String>,
    /// Runs the checks on the claimed commit in a fresh checkout; uncommitted changes do not count
    #[arg(long)]
    clean: bool,
    /// Refuses to start if the run has no check that could verify a claim
    #[arg(long)]
    require_criteria: bool,
    /// Accepts only a claim that a check proves: it failed before the work and passes now
    #[arg(long)]
    require_proof: bool,
    #[command(flatten)]
    judge: JudgeArgs,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Proof")]
pub struct CheckArgs {
    /// Time limit for each check; overrides the configuration [built-in: 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    check_timeout: Option<Duration>,
    #[command(flatten)]
    proof: ProofArgs,
    /// Does not run the checks before the first iteration
    #[arg(long, overrides_with = "baseline")]
    no_baseline: bool,
    /// Runs the checks once before the first iteration; a check that already passes proves nothing [built-in]
    #[arg(long, overrides_with = "no_baseline")]
    baseline: bool,
}

impl ProofArgs {
    pub fn apply(&self, settings: &mut Settings) {
        let verification = &mut settings.verification;
        verification.guard.set_from_flag((!self.guard.is_empty()).then(|| self.guard.clone()), "--guard");
        let allowed = (!self.allow_changes.is_empty()).then(|| self.allow_changes.clone());
        verification.allow_changes.set_from_flag(allowed, "--allow-changes");
        verification.isolation.set_from_flag(self.clean.then_some(CheckIsolation::Clean), "--clean");
        verification.require_criteria.set_from_flag(self.require_criteria.then_some(true), "--require-criteria");
        verification.require_proof.set_from_flag(self.require_proof.then_some(true), "--require-proof");
        self.judge.apply(settings);
    }
}

impl CheckArgs {
    /// Applies the flags to the chosen checks. Checks keep their origin, so those of a project still need approval.
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
