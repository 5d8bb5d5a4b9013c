//! `ralph task run`: one stage of a task, driven by the same engine as every other run.
use std::cell::RefCell;
use std::collections::BTreeMap;

use ralph_core::criterion::template::Values;
use ralph_core::policy::{Judging, Policy};
use ralph_core::task::{Approval, ProjectChecks, Resolved, StagePrompt, Status, resolve, starts, unmet};

use super::run_args::RunArgs;
use super::{picked, templates};
use crate::cli::detach::detach;
use crate::cli::resume::refuse_tracked;
use crate::cli::run::{drive, execute, preflight, refuse_recursion, with_keeper};
use crate::cli::usual_plan::{Wanted, usual_plan};
use crate::cli::{block_on, out, pick, trust};
use crate::config::{Part, Settings};
use crate::engine::{PromptSource, RunPlan, StageOf};
use crate::error::Failure;
use crate::project::Project;
use crate::sanitize::visible;
use crate::store::{Store, TaskRow};
use crate::view::short_id;

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
    store.close().await;
    ready?;
    approved(&row)?;
    let used = RefCell::new(Vec::new());
    let from_template = |name: &str, with: &BTreeMap<String, Values>| {
        used.borrow_mut().push(name.to_owned());
        templates::filled(&settings.templates, name, with)
    };
    let rules = settings.role_rules(&args.role);
    let resolved = resolve(&row.task, &args.role, &rules, args.lacking(), &from_template)
        .map_err(|problem| Failure::preflight(&problem.what).hint(problem.hint))?;
    let checks = match resolved.project_checks {
        ProjectChecks::Added => Part::Used,
        ProjectChecks::Left => Part::Left,
    };
    resolved.warnings.iter().for_each(|warning| out::note(&format!("warning: {warning}")));
    let prompt = StagePrompt { sent_back: sent_back?, ..StagePrompt::new(&row.task, &args.role, &resolved) };
    let plan = plan(args, (settings, project), resolved, prompt)?;
    preflight(&plan)?;
    trust::ensure_with(&plan, settings, checks, &used.borrow())?;
    Ok(plan)
}

fn plan(
    args: &RunArgs,
    (settings, project): (&Settings, Project),
    resolved: Resolved,
    prompt: StagePrompt,
) -> Result<RunPlan, Failure> {
    let wanted = Wanted {
        settings,
        agent: &args.agent,
        audience: args.output.audience(),
        promise: resolved.promise,
        prompt: PromptSource::Stage(Box::new(prompt)),
        checks: resolved.criteria,
        max_iterations: args.max_iterations.unwrap_or(resolved.max_iterations),
    };
    let plan = usual_plan(wanted, project)?;
    Ok(RunPlan {
        kind: "task",
        policy: Policy {
            context: args.context(),
            duty: settings.duty(&args.role),
            judging: if args.role.judges() { Judging::Yes } else { Judging::No },
            ..plan.policy
        },
        stage: Some(StageOf { task: args.id.clone(), role: args.role.clone() }),
        ..plan
    })
}

/// Refuses a task with checks that an agent wrote and nobody has approved.
fn approved(row: &TaskRow) -> Result<(), Failure> {
    if row.approval == Approval::Given {
        return Ok(());
    }
    let id = &row.task.id;
    let refused =
        Failure::preflight(format!("an agent wrote checks of task {id}, and nobody has approved them"));
    let started =
        starts(&row.task).into_iter().map(|start| visible(&format!("{}: {}", start.place, start.what)));
    Err(started
        .fold(refused, Failure::cause)
        .hint(format!("look at them, then run: ralph task approve {id}")))
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
async fn sent_back(store: &Store, row: &TaskRow) -> Result<Option<String>, Failure> {
    let Some((_, last)) = store.runs_of_task(&row.task.id).await?.pop() else { return Ok(None) };
    Ok(last.ended().and_then(|ended| ended.sent_back_because().map(str::to_owned)))
}
