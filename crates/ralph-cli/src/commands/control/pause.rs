//! `ralph pause`.
use clap::Args;
use ralph_app::control::{PauseResult, pause_loop};
use ralph_app::view::short_id;
use ralph_app::workflow_runs::{WorkflowPause, names_workflow_run, pause_workflow_run};
use ralph_core::control_command::PauseTiming;
use ralph_engine::project::Project;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Pauses a loop, by its task or its run
///
/// The current iteration ends first, with its checks; a wait for a rate limit or before a retry is paused at once. If the
/// loop of a task ends with that iteration, or the task has no loop at the moment, its next loop starts paused. A paused loop uses no budget and no time, and stays paused if its ralph process dies. `ralph resume` resumes it.
///
/// A workflow run pauses when the nodes that run have ended, and its process ends; with `--now`, they are stopped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph pause                     the only active loop
  ralph pause TASK-001            pauses after this iteration
  ralph pause TASK-001 --now      stops the agent; its iteration is repeated later
  ralph resume TASK-001           resumes it")]
pub struct PauseArgs {
    /// A task id, or the start or end of a run id [default: the only active loop]
    #[arg(value_name = "TASK|RUN")]
    id: Option<String>,
    /// Stops the agent and its checks; the iteration is repeated after the pause
    #[arg(long)]
    now: bool,
}

pub fn run(args: &PauseArgs) -> Result<u8, CommandError> {
    let timing = if args.now { PauseTiming::Now } else { PauseTiming::Idle };
    let project = Project::find_here()?;
    if args.id.is_some() && block_on(async { Ok(names_workflow_run(&project, args.id.as_deref()).await?) })? {
        return pause_workflow(args, &project);
    }
    match block_on(async { Ok(pause_loop(&project, args.id.as_deref(), timing).await?) })? {
        PauseResult::Paused(position) => {
            out::print_message(&format!("Paused Ralph loop for {position}"));
            out::print_note(&format!("resume    ralph resume {}", position.name));
        }
        PauseResult::AfterIteration(position) => {
            out::print_message(&format!("The Ralph loop for {position} pauses after this iteration"));
        }
        PauseResult::BeforeNextLoop { task } => {
            out::print_message(&format!("{task} has no loop at the moment; its next one starts paused"));
            out::print_note(&format!("resume    ralph resume {task}"));
        }
    }
    Ok(0)
}

fn pause_workflow(args: &PauseArgs, project: &Project) -> Result<u8, CommandError> {
    let when = if args.now { WorkflowPause::Now } else { WorkflowPause::AfterNodes };
    let run = block_on(async { Ok(pause_workflow_run(project, args.id.as_deref(), when).await?) })?;
    let short = short_id(&run.id);
    out::print_message(&match when {
        WorkflowPause::Now => format!("The workflow run {short} stops its nodes"),
        WorkflowPause::AfterNodes => format!("The workflow run {short} pauses when the nodes that run have ended"),
    });
    out::print_note(&format!("resume    ralph resume {short}"));
    Ok(0)
}
