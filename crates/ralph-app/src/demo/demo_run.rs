//! The run of the demo, and its result.
use ralph_core::claim::Promise;
use ralph_core::criterion::ExternalCheck;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{OutputVisibility, PromptSource, RunContext, RunPlan, RunSpec};

use super::{DEMO_CHECK, DEMO_TASK, DemoRepository};
use crate::config::Settings;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::plan::{AgentAccess, PlanRequest, build_default_plan};
use crate::run::{FoundRun, PreparedRun, find_run};
use crate::view::RunView;

/// The name of the scripted agent.
pub(super) const DEMO_AGENT: &str = "demo";
const MAX_DEMO_ITERATIONS: u32 = 5;

/// The result of the demo.
#[derive(Debug)]
pub struct DemoResult {
    /// The claims of the agent and their verdicts, one line each.
    pub claims: Vec<String>,
    /// The commit of the agent; `None` if it was stopped before it committed.
    pub commit: Option<DemoCommit>,
}

/// The commit of the agent, and a summary of its changes.
#[derive(Debug)]
pub struct DemoCommit {
    pub commit: String,
    pub change: String,
}

/// Creates the repository of the demo.
pub fn create_demo_repository() -> AppResult<DemoRepository> {
    DemoRepository::create().map_err(|error| {
        AppError::from_error(ErrorKind::Preflight, &error)
            .with_advice("the demo needs git and free space in the temporary directory")
    })
}

/// Plans the run of the demo with the built-in settings, whatever this user has configured.
pub fn prepare_demo_run(repository: &DemoRepository, extra_agent_args: Vec<String>) -> AppResult<PreparedRun> {
    let mut settings = Settings::default();
    settings.agent.value = DEMO_AGENT.to_owned();
    let request = PlanRequest {
        settings: &settings,
        extra_agent_args,
        visibility: OutputVisibility::Shown,
        promise: Promise::parse("DONE").map_err(|error| AppError::internal(&error))?,
        prompt: PromptSource::Text(DEMO_TASK.to_owned()),
        checks: vec![ExternalCheck::from_shell_text(DEMO_CHECK).into()],
        max_iterations: MAX_DEMO_ITERATIONS,
        access: AgentAccess::AgentDefault,
    };
    let plan = build_default_plan(request, Project::find_from(&repository.root)?)?;
    let spec = RunSpec { config_fingerprints: None, ..plan.spec };
    Ok(PreparedRun { plan: RunPlan { spec, context: RunContext { kind: "demo", ..plan.context } } })
}

/// Loads what the run of the demo has proven.
pub async fn load_demo_result(repository: &DemoRepository, run: &str) -> AppResult<DemoResult> {
    let FoundRun { store, run } = find_run(&Project::find_from(&repository.root)?, Some(run)).await?;
    let claims = RunView::load(&store, run).await?.claim_lines();
    let commit = repository.agent_commit().map_err(|error| AppError::internal(&error))?;
    Ok(DemoResult { claims, commit: commit.map(|(commit, change)| DemoCommit { commit, change }) })
}
