//! The plan of a run as flags and settings have it. Each command changes what is its own.
use ralph_core::claim::Promise;
use ralph_core::criterion::Criterion;
use ralph_core::outcome::exit_code;
use ralph_core::policy::ProofRequirement;

use super::agent_args::AgentArgs;
use super::judge;
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_engine::lock::LockSharing;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{OutputVisibility, PromptSource, RunPlan, new_run_id};
use ralph_engine::verify::{AcceptancePolicy, PathPatterns};

/// What every command that starts a run knows.
pub struct PlanRequest<'a> {
    pub settings: &'a Settings,
    pub agent: &'a AgentArgs,
    pub audience: OutputVisibility,
    pub promise: Promise,
    pub prompt: PromptSource,
    pub checks: Vec<Criterion>,
    pub max_iterations: u32,
}

/// Returns the plan of a `run` that nobody told more.
pub fn build_default_plan(request: PlanRequest<'_>, project: Project) -> Result<RunPlan, CommandError> {
    let PlanRequest { settings, agent, audience, promise, prompt, checks, max_iterations } = request;
    // Without a check, what is guarded must stay as it is all the same.
    let is_claim_alone = checks.is_empty() && settings.verification.guard.value.is_empty();
    let proof = if is_claim_alone { ProofRequirement::ClaimAlone } else { ProofRequirement::Checks };
    Ok(RunPlan {
        id: new_run_id(),
        kind: "run",
        claim_rules: settings.claim_rules(promise),
        judge: judge::choose_judge(settings, &project, &checks)?,
        criteria: checks,
        acceptance: build_acceptance(settings)?,
        agent: agent.choose_agent(settings, &project)?,
        fallback: AgentArgs::choose_fallbacks(settings, &project)?,
        policy: settings.run_policy(max_iterations, proof),
        prompt,
        plan_file: None,
        session_log: None,
        stop_grace: settings.limits.grace.value,
        visibility: audience,
        max_memory: settings.limits.max_memory.value,
        log_limit: settings.limits.log_limit.value,
        sharing: LockSharing::Exclusive,
        config_fingerprints: Some(settings.fingerprints.clone()),
        stage: None,
        own_worktree: None,
        project,
    })
}

/// Returns how claims are accepted. A pattern that is none is refused before anything is started.
pub fn build_acceptance(settings: &Settings) -> Result<AcceptancePolicy, CommandError> {
    let verification = &settings.verification;
    let acceptance = AcceptancePolicy {
        guard: verification.guard.value.clone(),
        allow_changes: verification.allow_changes.value.clone(),
        isolation: verification.isolation.value,
        setup: verification.setup.value.clone(),
        share: verification.share.value.clone(),
        is_always_fresh: !verification.cache.value,
    };
    for patterns in [&acceptance.guard, &acceptance.allow_changes] {
        PathPatterns::compile(patterns).map_err(|error| {
            CommandError::from_error(exit_code::USAGE_ERROR, &error)
                .with_hint("patterns are written as in a .gitignore, such as 'tests/**', '*.snap' or '!tests/data'")
        })?;
    }
    Ok(acceptance)
}
