//! `ralph resume`.

use clap::Args;
use ralph_core::control_command::ControlCommand;
use ralph_core::loop_state::LoopPhase;
use ralph_core::outcome::{RunEnd, exit_code};

use super::config_args::ConfigArgs;
use super::detach::{DetachArgs, run_detached};
use super::interaction::TerminalInteraction;
use super::output_args::{OutputArgs, OutputMode};
use super::run::{acquire_run_lease, build_run_resources, run_and_report, with_keeper};
use super::{block_on, out, run_lookup, signal_exit_code, task};
use crate::error::CommandError;
use ralph_app::control::{ANSWER_TIMEOUT, describe_loop, poll_with_timeout, unresponsive_error};
use ralph_app::plan::preflight_resumed_run;
use ralph_app::run::{
    FoundRun, RebuiltRun, ResumeRequest, kill_leftover_processes, refuse_recursion, refuse_tracked_state,
    set_up_worktree,
};
use ralph_app::view::{event_json_line, short_id};
use ralph_app::worktrees::ensure_task_is_free;
use ralph_engine::control::{CommandDelivery, DriverStatus, find_driver, send_command};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    Clock, GENERATE_RUN_KIND, OutputVisibility, ResumedRun, RunPlan, RunSpec, STAGE_RUN_KIND, StartMode,
};
use ralph_process::Keeper;
use ralph_store::{CommandTarget, RunRow, Store, StoredRun, TakeoverGuard};
use ralph_util::failpoints::{self, FailPoint};

/// Goes on with a run that was paused or interrupted, or whose ralph died
///
/// Without RUN, the newest. RUN is the beginning or the end of an id, or the id of a task. What was finished is kept; the iteration that was
/// cut short is done again under its number, and checks that were cut short run again without the agent. A run that has
/// ended repeats its result and exit code, and nothing is started. One that is paused is told to go on where it is driven.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph resume                 the newest run of this project
  ralph resume 3f2a9c41        the run whose id ends so; `ralph runs` lists them
  ralph resume --detach        goes on in the background; `ralph attach` follows it")]
pub struct ResumeArgs {
    run: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    background: DetachArgs,
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: &ResumeArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    refuse_tracked_state(&project)?;
    if args.background.is_requested() {
        return resume_in_background(args, project);
    }
    with_keeper(|keeper| resume_in_foreground(args, project, keeper))
}

/// What became of a run.
enum ResumeLookup {
    /// It has ended, which was said again.
    Ended(u8),
    Resumable(Box<ResumableRun>),
}

/// A run that can go on.
struct ResumableRun {
    row: RunRow,
    plan: RunPlan,
    /// What has changed since the run started.
    changes: Vec<String>,
}

async fn resume_in_foreground(args: &ResumeArgs, project: Project, keeper: Keeper) -> Result<u8, CommandError> {
    let FoundRun { store, run: row } = run_lookup::find_run_or_task(args.run.as_deref()).await?;
    if let Some(code) = wake_paused_run(&store, &row, &project).await? {
        return Ok(code);
    }
    match inspect_run(args, &store, row, project).await? {
        ResumeLookup::Ended(code) => Ok(code),
        ResumeLookup::Resumable(left) => {
            let show = args.output.output_mode(&left.plan);
            resume_run(*left, (store, keeper), show).await
        }
    }
}

/// Looks here, where questions can be asked, and goes on elsewhere.
fn resume_in_background(args: &ResumeArgs, project: Project) -> Result<u8, CommandError> {
    let found = block_on(async {
        let FoundRun { store, run: row } = run_lookup::find_run_or_task(args.run.as_deref()).await?;
        let found = match wake_paused_run(&store, &row, &project).await? {
            Some(code) => Ok(ResumeLookup::Ended(code)),
            None => inspect_run(args, &store, row, project).await,
        };
        store.close().await;
        found
    });
    let ResumableRun { row, plan, changes } = match found? {
        ResumeLookup::Ended(code) => return Ok(code),
        ResumeLookup::Resumable(left) => *left,
    };
    run_detached(plan, &args.output, |plan, show| {
        with_keeper(async move |keeper| {
            let FoundRun { store, run: _ } = run_lookup::find_run(Some(&row.id)).await?;
            resume_run(ResumableRun { row, plan, changes }, (store, keeper), show).await
        })
    })
}

/// Lets whoever drives a paused run go on with it, if somebody does.
async fn wake_paused_run(store: &Store, row: &RunRow, project: &Project) -> Result<Option<u8>, CommandError> {
    let Some(found) = store.loop_of_run(&row.id).await?.filter(|found| found.run.status == "running") else {
        return Ok(None);
    };
    let DriverStatus::Driven(owner) = find_driver(project, &found) else { return Ok(None) };
    let state = store.load_run(&row.id).await?.state;
    let is_paused = matches!(state.phase, LoopPhase::Paused { .. });
    if !is_paused && !state.pending_commands.pause {
        return Ok(None);
    }
    let (target, command) = (CommandTarget::Run(&row.id), &ControlCommand::Resume);
    let sent = send_command(store, target, command, Clock::wall_now(), owner.as_ref()).await?;
    let CommandDelivery::Queued { id } = sent else { return Ok(None) };
    let answered = async || Ok(store.command_answer(&id).await?);
    if poll_with_timeout(ANSWER_TIMEOUT, answered).await?.is_none() {
        return Err(unresponsive_error(&found, owner.as_ref())
            .with_advice("the command stays: the loop resumes as soon as it answers")
            .into());
    }
    out::print_message(&format!("Resumed Ralph loop for {}", describe_loop(&found)));
    Ok(Some(0))
}

/// Finds out whether a run can go on, before anything of it is touched.
async fn inspect_run(
    args: &ResumeArgs,
    store: &Store,
    row: RunRow,
    project: Project,
) -> Result<ResumeLookup, CommandError> {
    let stored = store.load_run(&row.id).await?;
    if !stored.state.can_resume() {
        let audience = args.output.audience();
        let code = repeat_result(store, &row, &stored, audience).await?;
        return task::finish_generation_in(store, &project, &row.id, (code, audience)).await.map(ResumeLookup::Ended);
    }
    if row.kind == STAGE_RUN_KIND {
        return Err(CommandError::preflight_error(format!(
            "run {} is a stage that a worker drives",
            short_id(&row.id)
        ))
        .with_hint("`ralph work` goes on with its task"));
    }
    let request = ResumeRequest {
        config: &args.config.source(),
        visibility: args.output.audience(),
        person: &TerminalInteraction,
    };
    let RebuiltRun { plan, changes } = request.rebuild_plan(&row, &stored, &project)?;
    preflight_resumed_run(&plan)?;
    Ok(ResumeLookup::Resumable(Box::new(ResumableRun { row, plan, changes })))
}

async fn resume_run(
    left: ResumableRun,
    (store, keeper): (Store, Keeper),
    show: OutputMode,
) -> Result<u8, CommandError> {
    let ResumableRun { row, plan, changes } = left;
    let hold = acquire_run_lease(&plan).await?;
    let settings = RunSpec::from_plan(&plan)
        .to_stored_json()
        .map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))?;
    if let Some(task) = &row.task {
        ensure_task_is_free(&store, task).await?;
    }
    failpoints::reach_fail_point(FailPoint::StageBegins);
    let right = row.task.as_deref().map_or(TakeoverGuard::Unguarded, |task| TakeoverGuard::TaskUnleased { task });
    let stored = store.take_over_run(&row.id, &hold.owner().to_json(), &settings, right).await?;
    let audience = match show {
        OutputMode::Json => OutputVisibility::Hidden,
        OutputMode::Plain(_) | OutputMode::Background(_) => OutputVisibility::Shown,
    };
    if !stored.state.can_resume() {
        return repeat_result(&store, &row, &stored, audience).await;
    }
    kill_leftover_processes(&row.id, &TerminalInteraction);
    if let Some(signal) = set_up_worktree(&plan, &keeper).await? {
        return Ok(signal_exit_code(signal));
    }
    let left = StartMode::Resumed(Box::new(ResumedRun { stored_run: stored, changes }));
    let told = show.start_reporter(plan.policy.max_iterations)?;
    let (kind, project) = (plan.kind, plan.project.clone());
    let code = run_and_report(plan, left, build_run_resources(keeper, hold, store)?, told).await?;
    match kind {
        GENERATE_RUN_KIND => task::finish_generation(&project, &row.id, (code, audience)).await,
        _ => Ok(code),
    }
}

/// A run that has ended says so again. Nothing is started.
async fn repeat_result(
    store: &Store,
    row: &RunRow,
    stored: &StoredRun,
    audience: OutputVisibility,
) -> Result<u8, CommandError> {
    let Some(ended) = stored.state.run_end() else {
        return Err(CommandError::from_message(exit_code::INTERNAL_ERROR, "a run that cannot go on has no end"));
    };
    match audience {
        OutputVisibility::Hidden => {
            for last in store.events_after(&row.id, stored.fact_count - 1, 1).await? {
                out::print_line(&event_json_line(&row.id, &last));
            }
        }
        OutputVisibility::Shown => print_ended_run(row, ended),
    }
    Ok(ended.exit_code)
}

fn print_ended_run(row: &RunRow, ended: &RunEnd) {
    out::print_note(&format!("run {} has ended; nothing was started", short_id(&row.id)));
    out::print_message(&format!("{}: {}", ended.outcome.as_str(), ended.reason));
    out::print_message(&format!("details   ralph show {}", short_id(&row.id)));
}
