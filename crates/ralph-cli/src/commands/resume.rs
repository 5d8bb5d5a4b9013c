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
    Clock, GENERATE_RUN_KIND, OutputVisibility, ResumedRun, RunPlan, STAGE_RUN_KIND, StartMode,
};
use ralph_process::Keeper;
use ralph_store::{CommandTarget, RunRow, Store, StoredRun, TakeoverGuard};
use ralph_util::failpoints::{self, FailPoint};

/// Resumes a run that was paused or interrupted, or whose ralph process died
///
/// Finished iterations are kept. ralph repeats an interrupted iteration under the same number; if only its checks were
/// interrupted, it repeats them without the agent. A paused run continues in the process that drives it. For a run that
/// has ended, ralph prints the result again, returns its exit code and starts nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph resume                 the newest run of this project
  ralph resume 3f2a9c41        the run whose id ends with this; `ralph runs` lists them
  ralph resume --detach        in the background; `ralph attach` follows it")]
pub struct ResumeArgs {
    /// The start or end of a run id, or a task id [default: the newest run]
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

/// Whether a run can be resumed.
enum ResumeLookup {
    /// It cannot, or its driver has resumed it: the exit code of this command.
    Ended(u8),
    Resumable(Box<ResumableRun>),
}

/// A run that can be resumed.
struct ResumableRun {
    row: RunRow,
    plan: RunPlan,
    /// Changes to files and settings since the run started.
    changes: Vec<String>,
}

async fn resume_in_foreground(args: &ResumeArgs, project: Project, keeper: Keeper) -> Result<u8, CommandError> {
    let FoundRun { store, run: row } = run_lookup::find_run_or_task(args.run.as_deref()).await?;
    if let Some(code) = wake_paused_run(&store, &row, &project).await? {
        return Ok(code);
    }
    match inspect_run(args, &store, row, project).await? {
        ResumeLookup::Ended(code) => Ok(code),
        ResumeLookup::Resumable(run) => {
            let output = args.output.output_mode(&run.plan);
            resume_run(*run, store, keeper, output).await
        }
    }
}

/// Inspects the run in this process, which can ask questions, and resumes it in a background process.
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
        ResumeLookup::Resumable(run) => *run,
    };
    run_detached(plan, &args.output, |plan, output| {
        with_keeper(async move |keeper| {
            let FoundRun { store, run: _ } = run_lookup::find_run(Some(&row.id)).await?;
            resume_run(ResumableRun { row, plan, changes }, store, keeper, output).await
        })
    })
}

/// Tells the process that drives a paused run to resume it. Returns `None` if the run is not paused or has no driver.
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
            .with_advice("the command stays queued: the loop resumes as soon as its process responds")
            .into());
    }
    out::print_message(&format!("Resumed Ralph loop for {}", describe_loop(&found)));
    Ok(Some(0))
}

/// Checks whether a run can be resumed. Changes nothing.
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
        return task::finish_generation_in(store, &project, &row.id, code, audience).await.map(ResumeLookup::Ended);
    }
    if row.kind == STAGE_RUN_KIND {
        return Err(CommandError::preflight_error(format!(
            "run {} is a stage that a worker drives",
            short_id(&row.id)
        ))
        .with_hint("`ralph work` resumes its task"));
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

async fn resume_run(run: ResumableRun, store: Store, keeper: Keeper, output: OutputMode) -> Result<u8, CommandError> {
    let ResumableRun { row, plan, changes } = run;
    let lease = acquire_run_lease(&plan).await?;
    let settings =
        plan.spec.to_stored_json().map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))?;
    if let Some(task) = &row.task {
        ensure_task_is_free(&store, task).await?;
    }
    failpoints::reach_fail_point(FailPoint::StageBegins);
    let guard = row.task.as_deref().map_or(TakeoverGuard::Unguarded, |task| TakeoverGuard::TaskUnleased { task });
    let stored = store.take_over_run(&row.id, &lease.owner().to_json(), &settings, guard).await?;
    let audience = match output {
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
    let start = StartMode::Resumed(Box::new(ResumedRun { stored_run: stored, changes }));
    let reporter = output.start_reporter(plan.spec.policy.max_iterations)?;
    let (kind, project) = (plan.context.kind, plan.context.project.clone());
    let code = run_and_report(plan, start, build_run_resources(keeper, lease, store)?, reporter).await?;
    match kind {
        GENERATE_RUN_KIND => task::finish_generation(&project, &row.id, code, audience).await,
        _ => Ok(code),
    }
}

/// Prints the result of a run that has ended, and returns its exit code.
async fn repeat_result(
    store: &Store,
    row: &RunRow,
    stored: &StoredRun,
    audience: OutputVisibility,
) -> Result<u8, CommandError> {
    let Some(ended) = stored.state.run_end() else {
        return Err(CommandError::from_message(exit_code::INTERNAL_ERROR, "a run that cannot be resumed has no end"));
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
