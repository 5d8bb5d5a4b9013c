//! `ralph limit`.
use clap::Args;
use ralph_app::control::{LimitResult, change_limits};
use ralph_app::workflow_runs::{limit_workflow_run, names_workflow_run};
use ralph_core::budget::format_dollars;
use ralph_engine::project::Project;

use crate::commands::args::limit_change_args::LimitChangeArgs;
use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Changes the limits of a running loop, by its task or its run
///
/// Values are new totals; a plus sign adds to the present limit. Cost, token and time limits apply at once, also to the agent
/// that is running; the iteration limit applies when the iteration ends. `ralph resume` continues a run that has ended with
/// other limits.
///
/// A workflow run has a spending limit (`--max-cost`). A new one applies to the agents that start afterwards.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph limit --max-cost +5                 the only active loop
  ralph limit TASK-001 --max-iterations +5
  ralph limit 3f2a9c41 --max-cost 10 --max-duration +2h")]
pub struct ChangeLimitArgs {
    /// A task id, or the start or end of a run id [default: the only active loop]
    #[arg(value_name = "TASK|RUN")]
    id: Option<String>,
    #[command(flatten)]
    limits: LimitChangeArgs,
}

pub fn run(args: &ChangeLimitArgs) -> Result<u8, CommandError> {
    let changes = args.limits.changes();
    if changes.is_empty() {
        return Err(CommandError::usage_error("no limit is given")
            .with_hint("give at least one of --max-iterations, --max-cost, --max-tokens and --max-duration"));
    }
    let project = Project::find_here()?;
    let id = args.id.as_deref();
    if id.is_some() && block_on(async { Ok(names_workflow_run(&project, id).await?) })? {
        let limit = block_on(async { Ok(limit_workflow_run(&project, id, changes).await?) })?;
        out::print_message(&format!("The workflow run has a new spending limit: {}", format_dollars(limit)));
        return Ok(0);
    }
    match block_on(async { Ok(change_limits(&project, args.id.as_deref(), changes).await?) })? {
        LimitResult::Changed { position, limits } => {
            out::print_message(&format!("The Ralph loop for {position} has new limits: {}", limits.describe()));
        }
        LimitResult::Unchanged(position) => {
            out::print_message(&format!("The Ralph loop for {position} has these limits already"));
        }
    }
    Ok(0)
}
