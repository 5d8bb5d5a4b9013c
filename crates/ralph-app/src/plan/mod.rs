//! Plans a run from the settings: agents, checks, judge, limits. Each kind of run then changes what differs.
mod agent_access;
mod agent_choice;
mod cost_limits;
mod judge;
mod preflight;
mod require_criteria;
mod stage;
mod template_checks;
mod usual_commands;

use ralph_core::claim::Promise;
use ralph_core::criterion::Criterion;
use ralph_core::policy::ClaimVerification;

use crate::config::Settings;
use crate::error::{AppError, AppResult, ErrorKind};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    OutputVisibility, PromptSource, RunContext, RunPlan, RunSpec, StoredAgent, StoredJudge, new_run_id,
};
use ralph_engine::verify::{AcceptancePolicy, PathPatterns};

pub use agent_access::AgentAccess;
pub use agent_choice::{build_agent_choice, choose_agent, choose_fallbacks};
pub use cost_limits::{ScopeCostLimit, WorkCostLimit, agents_with_unknown_cost, work_cost_limit};
pub use judge::choose_judge;
pub use preflight::{preflight_resumed_run, preflight_run};
pub use require_criteria::{ensure_claims_verified, ensure_provable, ensure_run_criteria};
pub(crate) use stage::read_specification;
pub use stage::{StagePlan, StageRequest, ensure_task_approved, plan_stage};
pub use template_checks::{check_templates, fill_template, project_templates, select_templates};

/// The input for the plan of a run.
pub struct PlanRequest<'a> {
    pub settings: &'a Settings,
    /// Additional arguments for the chosen agent.
    pub extra_agent_args: Vec<String>,
    pub visibility: OutputVisibility,
    pub promise: Promise,
    pub prompt: PromptSource,
    pub checks: Vec<Criterion>,
    pub max_iterations: u32,
    /// The permissions of the agents if the user sets none.
    pub access: AgentAccess,
}

/// Returns the plan of an ad-hoc run.
pub fn build_default_plan(request: PlanRequest<'_>, project: Project) -> AppResult<RunPlan> {
    let PlanRequest { settings, extra_agent_args, visibility, promise, prompt, checks, max_iterations, access } =
        request;
    let proof = ClaimVerification::for_run(&checks, &settings.verification.guard.value);
    let judge = choose_judge(settings, &project, &checks)?;
    let scope = access.work_scope(settings, &checks, &project);
    let agent = access.grant(choose_agent(settings, &project, extra_agent_args)?, settings, &scope)?;
    let fallback = choose_fallbacks(settings, &project)?.into_iter();
    let fallback: Vec<_> = fallback.map(|agent| access.grant(agent, settings, &scope)).collect::<AppResult<_>>()?;
    let policy = settings.run_policy(max_iterations, proof);
    let spec = RunSpec {
        fallback: fallback.iter().map(StoredAgent::from_choice).collect(),
        criteria: checks,
        acceptance: build_acceptance(settings)?,
        judge: judge.as_ref().map(StoredJudge::from_choice),
        stop_grace: settings.limits.grace.value,
        max_memory: settings.limits.max_memory.value,
        log_limit: settings.limits.log_limit.value,
        config_fingerprints: Some(settings.fingerprints.clone()),
        ..RunSpec::new(prompt, &agent, settings.claim_rules(promise), policy)
    };
    let context = RunContext {
        id: new_run_id(),
        kind: "run",
        project,
        agent,
        fallback,
        judge,
        session_log: None,
        visibility,
        own_worktree: None,
        lease_fence: None,
        task_seal: None,
    };
    Ok(RunPlan { spec, context })
}

/// Returns how claims are accepted. An invalid pattern is an error before anything starts.
pub fn build_acceptance(settings: &Settings) -> AppResult<AcceptancePolicy> {
    let verification = &settings.verification;
    let acceptance = AcceptancePolicy {
        guard: verification.guard.value.clone(),
        allow_changes: verification.allow_changes.value.clone(),
        isolation: verification.isolation.value,
        setup: verification.setup.value.clone(),
        share: verification.share.value.clone(),
        tests: verification.tests.value,
        is_always_fresh: !verification.cache.value,
        commit: settings.pipeline.commit.value,
        sent_back_commit: None,
        accepted_by_person: None,
    };
    for patterns in [&acceptance.guard, &acceptance.allow_changes] {
        PathPatterns::compile(patterns).map_err(|error| {
            AppError::from_error(ErrorKind::InvalidRequest, &error)
                .with_advice("patterns are written as in a .gitignore, such as 'tests/**', '*.snap' or '!tests/data'")
        })?;
    }
    Ok(acceptance)
}
