//! `ralph task run`: one stage of a task, driven by the same engine as every other run.
use ralph_core::outcome::Outcome;
use ralph_core::pipeline::{How, Said};
use ralph_core::task::{Role, Status, Task, unmet};

use super::picked;
use super::run_args::RunArgs;
use super::seen_since::begun_at;
use super::stage_plan::{StagePlan, StageWanted, stage_plan};
use crate::cli::around::refuse_recursion;
use crate::cli::detach::detach;
use crate::cli::resume::refuse_tracked;
use crate::cli::run::{drive, execute, with_keeper};
use crate::cli::tree_hold::free;
use crate::cli::{block_on, out, pick};
use crate::error::Failure;
use ralph_app::config::Settings;
use ralph_app::view::short_id;
use ralph_engine::engine::RunPlan;
use ralph_engine::project::Project;
use ralph_store::{RunRow, Store, TaskRow};
use ralph_util::fail::{self, Point};

pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    refuse_recursion(&project)?;
    refuse_tracked(&project)?;
    let settings = args.settings(&project)?;
    if args.background.is_wanted() {
        let plan = block_on(prepare(args, &settings, project))?;
        return detach(plan, &args.output, execute);
    }
    // The store has a thread, and the keeper must be there before it.
    with_keeper(async |keeper| {
        let plan = prepare(args, &settings, project).await?;
        let show = args.output.show(&plan);
        drive(plan, keeper, show).await
    })
}

/// Looks whether the stage can begin, and settles what it is held to.
async fn prepare(args: &RunArgs, settings: &Settings, project: Project) -> Result<RunPlan, Failure> {
    let (store, row) = picked(&args.id).await?;
    let ready = ready(&store, &row, &project).await;
    let sent_back = sent_back(&store, &row).await;
    let begun_at = begun_at(&store, &row, &project).await;
    let accepted_last = accepted_last(&store, &row).await;
    store.close().await;
    ready?;
    let wanted = StageWanted {
        settings,
        agent: &args.agent,
        audience: args.output.audience(),
        role: &args.role,
        context: args.context(),
        max_iterations: args.max_iterations,
        earlier: sent_back?.into_iter().collect(),
    };
    let StagePlan { mut plan, warnings } = stage_plan(wanted, &row, project)?;
    if let (true, Some(judge), Some(base)) = (args.role.judges(), &mut plan.judge, begun_at?) {
        judge.base = base;
    }
    fail::point(Point::StageBegins);
    let out_of_turn = out_of_turn(&row, &args.role, accepted_last?.as_ref());
    warnings.iter().chain(&out_of_turn).for_each(|warning| out::note(&format!("warning: {warning}")));
    Ok(plan)
}

/// Says that this stage will not move its task.
fn out_of_turn(row: &TaskRow, role: &Role, accepted_last: Option<&Role>) -> Option<String> {
    let Task { id, status, .. } = &row.task;
    let own = Status::during(role)?.as_str();
    (!status.is_turn_of(role, accepted_last)).then(|| {
        format!(
            "task {id} is {}, so it is not the turn of the {}: however this stage ends, the task stays {} \
             (`ralph task edit {id} --status {own}` makes it so)",
            status.as_str(),
            role.as_str(),
            status.as_str(),
        )
    })
}

/// Returns the role whose stage was accepted last.
async fn accepted_last(store: &Store, row: &TaskRow) -> Result<Option<Role>, Failure> {
    let runs = store.runs_of_task(&row.task.id).await?;
    let accepted = runs.iter().rev().filter(|run| run.status == Outcome::Completed.as_str());
    let mut roles = accepted.filter_map(role_of);
    Ok(roles.find(|role| Role::KNOWN.contains(role)))
}

fn role_of(run: &RunRow) -> Option<Role> {
    Role::parse(run.role.as_deref()?).ok()
}

/// Refuses a task that waits for others, is over, or has somebody at work on it.
async fn ready(store: &Store, row: &TaskRow, project: &Project) -> Result<(), Failure> {
    let id = &row.task.id;
    if let Status::Done | Status::Cancelled = row.task.status {
        return Err(Failure::preflight(format!("task {id} is {}", row.task.status.as_str()))
            .hint(format!("open it again with `ralph task edit {id} --status todo`, or make a follow-up")));
    }
    let heads = store.tasks().await?;
    let status_of = |id: &str| heads.iter().find(|head| head.id == id).map(|head| head.status);
    let waits = unmet(row.task.dependencies(), status_of);
    if !waits.is_empty() {
        return Err(Failure::preflight(format!("task {id} waits for {}", waits.join(", ")))
            .hint("these must be done first, or be taken out with `ralph task edit`"));
    }
    free(store, id).await?;
    let run = heads.iter().find(|head| head.id == *id).and_then(|head| head.run.as_ref());
    match run.filter(|run| run.status == "running") {
        Some(run) if !pick::is_cut_short(project, &run.id) => {
            Err(Failure::preflight(format!("run {} is working on task {id}", short_id(&run.id)))
                .hint("`ralph attach` follows it"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns why the work was sent back, if that was the last that happened to the task.
async fn sent_back(store: &Store, row: &TaskRow) -> Result<Option<Said>, Failure> {
    let Some(last) = store.runs_of_task(&row.task.id).await?.pop() else { return Ok(None) };
    let stage = role_of(&last).unwrap_or(Role::Reviewer);
    let because = last.ended().and_then(|ended| ended.sent_back_because().map(str::to_owned));
    Ok(because.map(|words| Said { stage, how: How::SentBack, words }))
}
