//! `ralph task run`: runs one stage of a task.
use ralph_core::outcome::Outcome;
use ralph_core::pipeline::{StageOutcome, StageReport};
use ralph_core::task::{Role, Task, TaskStatus, unmet_dependencies};

use super::diff_base::find_base_commit;
use super::find_task;
use super::run_args::TaskRunArgs;
use crate::commands::detach::run_detached;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::run::{execute_run, execute_with_keeper, with_keeper};
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_app::plan::{StagePlan, StageRequest, plan_stage};
use ralph_app::run::refuse_recursion;
use ralph_app::run::refuse_tracked_state;
use ralph_app::task::FoundTask;
use ralph_app::view::short_id;
use ralph_app::worktrees::ensure_task_is_free;
use ralph_engine::project::Project;
use ralph_engine::run_driver::RunPlan;
use ralph_store::{RunRow, Store, TaskRow};
use ralph_util::failpoints::{self, FailPoint};

pub fn run(args: &TaskRunArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    refuse_tracked_state(&project)?;
    let settings = args.load_settings(&project)?;
    if args.background.is_requested() {
        let plan = block_on(plan_stage_run(args, &settings, project))?;
        return run_detached(plan, &args.output, execute_run);
    }
    // The keeper must be forked before the store starts its thread.
    with_keeper(async |keeper| {
        let plan = plan_stage_run(args, &settings, project).await?;
        let output = args.output.output_mode(&plan);
        execute_with_keeper(plan, keeper, output).await
    })
}

/// Checks that the stage can start, and plans it.
async fn plan_stage_run(args: &TaskRunArgs, settings: &Settings, project: Project) -> Result<RunPlan, CommandError> {
    let FoundTask { store, row } = find_task(&args.id).await?;
    let ready = ensure_ready(&store, &row, &project).await;
    let sent_back = last_rejection(&store, &row).await;
    let base_commit = find_base_commit(&store, &row, &project).await;
    let accepted_last = last_accepted_role(&store, &row).await;
    store.close().await;
    ready?;
    let request = StageRequest {
        settings,
        extra_agent_args: args.agent.extra_args(),
        visibility: args.output.audience(),
        role: &args.role,
        context: args.context(),
        max_iterations: args.max_iterations,
        earlier_results: sent_back?.into_iter().collect(),
    };
    let StagePlan { plan, warnings } = plan_stage(request, &row, project, &TerminalInteraction)?;
    let plan = match base_commit?.filter(|_| args.role.can_send_back()) {
        Some(base) => plan.with_judge_base(base),
        None => plan,
    };
    failpoints::reach_fail_point(FailPoint::StageBegins);
    let out_of_turn = out_of_turn_warning(&row, &args.role, accepted_last?.as_ref());
    warnings.iter().chain(&out_of_turn).for_each(|warning| out::print_note(&format!("warning: {warning}")));
    Ok(plan)
}

/// Returns a warning if this stage cannot change the status of its task.
fn out_of_turn_warning(row: &TaskRow, role: &Role, accepted_last: Option<&Role>) -> Option<String> {
    let Task { id, status, .. } = &row.task;
    let own = TaskStatus::while_in_role(role)?.as_str();
    (!status.is_turn_of(role, accepted_last)).then(|| {
        format!(
            "task {id} is {}, so it is not the turn of the {}: whatever the result of this stage, the task stays {} \
             (`ralph task edit {id} --status {own}` changes that)",
            status.as_str(),
            role.as_str(),
            status.as_str(),
        )
    })
}

/// Returns the role of the stage that was accepted last.
async fn last_accepted_role(store: &Store, row: &TaskRow) -> Result<Option<Role>, CommandError> {
    let runs = store.runs_of_task(&row.task.id).await?;
    let accepted = runs.iter().rev().filter(|run| run.status == Outcome::Completed.as_str());
    let mut roles = accepted.filter_map(run_role);
    Ok(roles.find(|role| Role::BUILT_IN.contains(role)))
}

fn run_role(run: &RunRow) -> Option<Role> {
    Role::parse(run.role.as_deref()?).ok()
}

/// Refuses a task that has ended, waits for other tasks, or is being worked on.
async fn ensure_ready(store: &Store, row: &TaskRow, project: &Project) -> Result<(), CommandError> {
    let id = &row.task.id;
    if let TaskStatus::Done | TaskStatus::Cancelled = row.task.status {
        return Err(CommandError::preflight_error(format!("task {id} is {}", row.task.status.as_str()))
            .with_hint(format!("reopen it with `ralph task edit {id} --status todo`, or create a follow-up")));
    }
    let heads = store.list_tasks().await?;
    let status_of = |id: &str| heads.iter().find(|head| head.id == id).map(|head| head.status);
    let waits = unmet_dependencies(row.task.dependencies(), status_of);
    if !waits.is_empty() {
        return Err(CommandError::preflight_error(format!("task {id} waits for {}", waits.join(", ")))
            .with_hint("finish these tasks first, or remove the dependency with `ralph task edit`"));
    }
    ensure_task_is_free(store, id).await?;
    let run = heads.iter().find(|head| head.id == *id).and_then(|head| head.run.as_ref());
    match run.filter(|run| run.status == "running") {
        Some(run) if !ralph_app::run::is_orphaned(project, &run.id) => {
            Err(CommandError::preflight_error(format!("run {} is working on task {id}", short_id(&run.id)))
                .with_hint("`ralph attach` follows it"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the rejection of the work, if the last run of the task sent it back.
async fn last_rejection(store: &Store, row: &TaskRow) -> Result<Option<StageReport>, CommandError> {
    let Some(last) = store.runs_of_task(&row.task.id).await?.pop() else { return Ok(None) };
    let stage = run_role(&last).unwrap_or(Role::Reviewer);
    let reason = last.run_end().and_then(|ended| ended.sent_back_reason().map(str::to_owned));
    Ok(reason.map(|words| StageReport { stage, how: StageOutcome::SentBack, words }))
}
