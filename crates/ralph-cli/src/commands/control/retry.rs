//! `ralph retry`.
use clap::Args;
use ralph_app::control::retry_task;
use ralph_engine::project::Project;

use crate::commands::interaction::TerminalInteraction;
use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Makes a blocked, cancelled or failed task ready again
///
/// The task restarts with its first stage and its full number of attempts. Its commits are kept.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph retry TASK-001; ralph work
  ralph guide TASK-001 'The tests need Redis: run make redis first'; ralph retry TASK-001")]
pub struct RetryArgs {
    /// The task id
    #[arg(value_name = "TASK")]
    id: String,
}

pub fn run(args: &RetryArgs) -> Result<u8, CommandError> {
    let task = block_on(async { Ok(retry_task(&Project::find_here()?, &args.id, &TerminalInteraction).await?) })?;
    out::print_message(&format!("{task} is ready again"));
    Ok(0)
}
