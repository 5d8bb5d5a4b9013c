//! One stage of a task as a run in the project's work tree.
use ralph_core::fact::Fact;
use ralph_core::outcome::Outcome;
use ralph_core::pipeline::{StageOutcome, StageReport, open_rejection};
use ralph_core::policy::ContextMode;
use ralph_core::task::{Role, TaskStatus, unmet_dependencies};
use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_engine::run_driver::OutputVisibility;
use ralph_store::{RunRow, Store, TaskRow};
use ralph_util::failpoints::{self, FailPoint};

use super::{PreparedRun, is_orphaned, refuse_recursion};
use crate::advice::Advice;
use crate::config::Settings;
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::plan::{StagePlan, StageRequest, plan_stage};
use crate::state::{StateEvidence, adopt_old_state};
use crate::task_files::{FoundTask, find_task};
use crate::tasks::TaskAdvice;
use crate::view::short_id;
use crate::work::count_protected_rejections;
use crate::worktrees::ensure_task_is_free;

/// The stage to run.
pub struct TaskRunRequest<'a> {
    pub task: &'a str,
    pub role: &'a Role,
    /// The settings with those of the role and of the request on top.
    pub settings: &'a Settings,
    /// Additional arguments for the chosen agent.
    pub extra_agent_args: Vec<String>,
    pub visibility: OutputVisibility,
    pub context: ContextMode,
    /// Overrides the limit of the task.
    pub max_iterations: Option<u32>,
}

/// A stage that can start.
pub struct PreparedStage {
    pub run: PreparedRun,
    pub warnings: Vec<String>,
    /// Set if the stage cannot change the status of its task.
    pub out_of_turn: Option<StageOutOfTurn>,
}

/// A stage whose result does not change the status of its task, because it is the turn of another role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageOutOfTurn {
    pub task: String,
    pub role: Role,
    pub status: TaskStatus,
    /// The status in which it would be the turn of the role.
    pub needed_status: TaskStatus,
}

/// Refuses to run tasks in this project, before its settings are read.
pub fn ensure_task_run_allowed(project: &Project) -> AppResult<()> {
    refuse_recursion(project)?;
    adopt_old_state(project, StateEvidence::Required).map(drop)
}

/// Checks that a stage of a task can start, and plans it.
pub async fn prepare_task_run(
    request: TaskRunRequest<'_>,
    project: Project,
    person: &dyn Interaction,
) -> AppResult<PreparedStage> {
    let FoundTask { store, row } = find_task(&project, request.task).await?;
    let history = StageHistory::load(&store, &row, request.role, &project).await;
    store.close().await;
    let StageHistory { rejection, base_commit, last_accepted, protected_rejections } = history?;
    let role = request.role;
    let stage_request = StageRequest {
        settings: request.settings,
        extra_agent_args: request.extra_agent_args,
        visibility: request.visibility,
        role,
        context: request.context,
        max_iterations: request.max_iterations,
        earlier_results: rejection.into_iter().collect(),
    };
    let StagePlan { mut plan, warnings } = plan_stage(stage_request, &row, project, person)?;
    plan.spec.policy.protected_rejections = protected_rejections;
    let plan = match base_commit.filter(|_| role.can_send_back()) {
        Some(base) => plan.with_judge_base(base),
        None => plan,
    };
    failpoints::reach_fail_point(FailPoint::StageBegins);
    let out_of_turn = StageOutOfTurn::find(&row, role, last_accepted.as_ref());
    Ok(PreparedStage { run: PreparedRun { plan }, warnings, out_of_turn })
}

impl StageOutOfTurn {
    fn find(row: &TaskRow, role: &Role, last_accepted: Option<&Role>) -> Option<Self> {
        let (task, status) = (row.task.id.clone(), row.task.status);
        let needed_status = TaskStatus::while_in_role(role)?;
        let is_turn = status.is_turn_of(role, last_accepted);
        (!is_turn).then(|| Self { task, role: role.clone(), status, needed_status })
    }
}

/// The results of earlier stages that the next one needs.
struct StageHistory {
    /// The rejection of the work that the role has not answered yet.
    rejection: Option<StageReport>,
    base_commit: Option<String>,
    /// The role of the stage that was accepted last.
    last_accepted: Option<Role>,
    /// Claims that were rejected because of changed protected tests.
    protected_rejections: u32,
}

impl StageHistory {
    /// Fails if the task cannot start.
    async fn load(store: &Store, row: &TaskRow, role: &Role, project: &Project) -> AppResult<Self> {
        ensure_ready(store, row, project).await?;
        let runs = store.runs_of_task(&row.task.id).await?;
        Ok(Self {
            rejection: find_open_rejection(&runs, role),
            base_commit: find_base_commit(store, &runs, project).await?,
            last_accepted: last_accepted_role(&runs),
            protected_rejections: count_protected_rejections(store, &row.task.id).await?,
        })
    }
}

/// Refuses a task that has ended, waits for other tasks, or is being worked on.
async fn ensure_ready(store: &Store, row: &TaskRow, project: &Project) -> AppResult<()> {
    let id = &row.task.id;
    if let TaskStatus::Done | TaskStatus::Cancelled = row.task.status {
        return Err(AppError::preflight(format!("task {id} is {}", row.task.status.as_str()))
            .with_advice(TaskAdvice::ReopenOrFollowUp { task: id.clone() }));
    }
    let heads = store.list_tasks().await?;
    let status_of = |id: &str| heads.iter().find(|head| head.id == id).map(|head| head.status);
    let waits = unmet_dependencies(row.task.dependencies(), status_of);
    if !waits.is_empty() {
        return Err(AppError::preflight(format!("task {id} waits for {}", waits.join(", ")))
            .with_advice(TaskAdvice::FinishDependencies));
    }
    ensure_task_is_free(store, id).await?;
    let run = heads.iter().find(|head| head.id == *id).and_then(|head| head.run.as_ref());
    match run.filter(|run| run.status == "running") {
        Some(run) if !is_orphaned(project, &run.id) => {
            Err(AppError::preflight(format!("run {} is working on task {id}", short_id(&run.id)))
                .with_advice(Advice::FollowActiveRun))
        }
        Some(_) | None => Ok(()),
    }
}

fn find_open_rejection(runs: &[RunRow], role: &Role) -> Option<StageReport> {
    let mut reports: Vec<StageReport> = runs.iter().filter_map(report_of_run).collect();
    open_rejection(&reports, role).map(|at| reports.swap_remove(at))
}

fn report_of_run(run: &RunRow) -> Option<StageReport> {
    let (stage, ended) = (run_role(run)?, run.run_end()?);
    let how = match ended.outcome {
        _ if ended.is_work_sent_back() => StageOutcome::SentBack,
        Outcome::Completed => StageOutcome::Accepted,
        Outcome::Exhausted
        | Outcome::Failed
        | Outcome::Stalled
        | Outcome::OverBudget
        | Outcome::Blocked
        | Outcome::Cancelled
        | Outcome::Interrupted => StageOutcome::Failed,
    };
    let words = ended.sent_back_reason().unwrap_or_default().to_owned();
    Some(StageReport { stage, how, words })
}

fn last_accepted_role(runs: &[RunRow]) -> Option<Role> {
    let accepted = runs.iter().rev().filter(|run| run.status == Outcome::Completed.as_str());
    let mut roles = accepted.filter_map(run_role);
    roles.find(|role| Role::BUILT_IN.contains(role))
}

fn run_role(run: &RunRow) -> Option<Role> {
    Role::parse(run.role.as_deref()?).ok()
}

/// Returns the base commit of the diff that a judge reads: that of the earliest stage of the task whose base is still an
/// ancestor of HEAD. The changes of the judging stage alone would usually be empty.
async fn find_base_commit(store: &Store, runs: &[RunRow], project: &Project) -> AppResult<Option<String>> {
    for run in runs {
        let sealed = store.events_of_kinds(&run.id, ["run.sealed", "run.sealed"]).await?;
        let mut bases = sealed.iter().filter_map(|event| sealed_base(&event.body));
        if let Some(base) = bases.find(|base| is_ancestor_of_head(project, base)) {
            return Ok(Some(base));
        }
    }
    Ok(None)
}

fn sealed_base(fact: &str) -> Option<String> {
    match serde_json::from_str(fact) {
        Ok(Fact::RunSealed { seal }) => seal.base,
        Ok(_) | Err(_) => None,
    }
}

fn is_ancestor_of_head(project: &Project, base: &str) -> bool {
    git::run_git(&project.root, &["merge-base", "--is-ancestor", base, "HEAD"]).is_ok()
}
