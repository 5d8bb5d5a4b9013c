//! The plan of a run as flags and settings have it. Each command changes what is its own.
use ralph_core::claim::Promise;
use ralph_core::criterion::Criterion;
use ralph_core::outcome::exit_code;
use ralph_core::policy::Proof;

use super::agent_args::AgentArgs;
use super::judge;
use crate::error::Failure;
use ralph_app::config::Settings;
use ralph_engine::engine::{Audience, PromptSource, RunPlan, new_run_id};
use ralph_engine::lock::Sharing;
use ralph_engine::project::Project;
use ralph_engine::verify::{Acceptance, Patterns};

/// What every command that starts a run knows.
pub struct Wanted<'a> {
    pub settings: &'a Settings,
    pub agent: &'a AgentArgs,
    pub audience: Audience,
    pub promise: Promise,
    pub prompt: PromptSource,
    pub checks: Vec<Criterion>,
    pub max_iterations: u32,
}

/// Returns the plan of a `run` that nobody told more.
pub fn usual_plan(wanted: Wanted<'_>, project: Project) -> Result<RunPlan, Failure> {
    let Wanted { settings, agent, audience, promise, prompt, checks, max_iterations } = wanted;
    // Without a check, what is guarded must stay as it is all the same.
    let is_word_alone = checks.is_empty() && settings.verification.guard.value.is_empty();
    let proof = if is_word_alone { Proof::ClaimAlone } else { Proof::Checks };
    Ok(RunPlan {
        id: new_run_id(),
        kind: "run",
        rules: settings.claim_rules(promise),
        judge: judge::choose(settings, &project, &checks)?,
        checks,
        acceptance: acceptance(settings)?,
        agent: agent.choice(settings, &project)?,
        fallback: AgentArgs::fallback(settings, &project)?,
        policy: settings.policy(max_iterations, proof),
        prompt,
        follows: None,
        session: None,
        grace: settings.limits.grace.value,
        audience,
        max_memory: settings.limits.max_memory.value,
        log_limit: settings.limits.log_limit.value,
        sharing: Sharing::Alone,
        configured: Some(settings.fingerprints.clone()),
        stage: None,
        tree: None,
        project,
    })
}

/// Returns how claims are accepted. A pattern that is none is refused before anything is started.
pub fn acceptance(settings: &Settings) -> Result<Acceptance, Failure> {
    let verification = &settings.verification;
    let acceptance = Acceptance {
        guard: verification.guard.value.clone(),
        allow_changes: verification.allow_changes.value.clone(),
        isolation: verification.isolation.value,
        setup: verification.setup.value.clone(),
        share: verification.share.value.clone(),
        is_always_fresh: !verification.cache.value,
    };
    for patterns in [&acceptance.guard, &acceptance.allow_changes] {
        Patterns::compile(patterns).map_err(|error| {
            Failure::new(exit_code::USAGE, &error).hint(
                "patterns are written as in a .gitignore, such as 'tests/**', '*.snap' or '!tests/data'",
            )
        })?;
    }
    Ok(acceptance)
}
