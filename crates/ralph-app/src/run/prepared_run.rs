//! A run that can start: it is planned, its agents can be started, and its commands are approved.
use ralph_core::claim::Promise;
use ralph_core::policy::Policy;
use ralph_engine::lock::LockSharing;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{OutputVisibility, PromptSource, RunPlan, RunSpec};

use super::{create_worktree, refuse_recursion};
use crate::config::Settings;
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::plan::{AgentAccess, PlanRequest, build_default_plan, ensure_provable, ensure_run_criteria, preflight_run};
use crate::trust::ensure_approved;

/// A run that [`start_run`](super::start_run) can start. Nothing of it is stored yet.
pub struct PreparedRun {
    pub(crate) plan: RunPlan,
}

impl PreparedRun {
    #[must_use]
    pub fn id(&self) -> &str {
        &self.plan.context.id
    }

    /// Lets a long wait end the process that drives the run. It must resume the run afterwards.
    pub fn allow_parking(&mut self) {
        self.plan.spec.policy.rate_limits.parking.is_possible = true;
    }

    /// Returns what will run: agents, checks and limits.
    #[must_use]
    pub fn plan(&self) -> &RunPlan {
        &self.plan
    }
}

/// Where a run works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunWorkspace {
    /// In the files of the project.
    Project,
    /// In a separate work tree, on its own branch.
    OwnWorktree,
}

/// The request for an ad-hoc run.
pub struct StartRunRequest<'a> {
    /// The settings with those of the request on top.
    pub settings: &'a Settings,
    /// Additional arguments for the chosen agent.
    pub extra_agent_args: Vec<String>,
    pub visibility: OutputVisibility,
    pub promise: Promise,
    pub prompt: PromptSource,
    /// Whether other runs may work in the same files at the same time.
    pub sharing: LockSharing,
    pub workspace: RunWorkspace,
}

/// Plans an ad-hoc run. Fails if it could not start, or if the user has not approved its commands.
pub fn prepare_run(request: StartRunRequest<'_>, project: Project, person: &dyn Interaction) -> AppResult<PreparedRun> {
    let (settings, workspace) = (request.settings, request.workspace);
    let plan = plan_run(request, project)?;
    refuse_recursion(&plan.context.project)?;
    preflight_run(&plan)?;
    ensure_approved(&plan, settings, person)?;
    let plan = match workspace {
        RunWorkspace::Project => plan,
        RunWorkspace::OwnWorktree => create_worktree(plan, settings)?,
    };
    Ok(PreparedRun { plan })
}

fn plan_run(request: StartRunRequest<'_>, project: Project) -> AppResult<RunPlan> {
    let StartRunRequest { settings, extra_agent_args, visibility, promise, prompt, sharing, workspace: _ } = request;
    refuse_empty_prompt(&prompt)?;
    let request = PlanRequest {
        settings,
        extra_agent_args,
        visibility,
        promise,
        prompt,
        checks: settings.criteria(),
        max_iterations: settings.default_max_iterations.value,
        access: AgentAccess::AgentDefault,
    };
    ensure_run_criteria(settings, &request.checks)?;
    ensure_provable(settings, &request.checks)?;
    let plan = build_default_plan(request, project)?;
    let policy = Policy { context: settings.context.value, ..plan.spec.policy };
    Ok(RunPlan { spec: RunSpec { policy, sharing, ..plan.spec }, ..plan })
}

fn refuse_empty_prompt(prompt: &PromptSource) -> AppResult<()> {
    let read = prompt.read_prompt(1, 1);
    let read = read.map_err(|error| AppError::preflight("the prompt cannot be read").with_cause(error))?;
    if read.text.trim().is_empty() {
        return Err(AppError::invalid_request("the prompt is empty").with_advice("describe what the agent must do"));
    }
    Ok(())
}
