//! `ralph retry`.
use clap::Args;
use ralph_app::control::retry_task;
use ralph_engine::project::Project;

use super::interaction::TerminalInteraction;
use super::{block_on, out};
use crate::error::CommandError;

/// Makes a task ready again that was blocked, was cancelled or has failed
///
/// It begins with its first stage, and with all of its attempts. What was committed for it stays.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph retry TASK-001; ralph work
  ralph guide TASK-001 'The tests need Redis: run make redis first'; ralph retry TASK-001")]
pub struct RetryArgs {
    /// The id of a task
    #[arg(value_name = "TASK")]
    id: String,
}

pub fn run(args: &RetryArgs) -> Result<u8, CommandError> {
    let task = block_on(async { Ok(retry_task(&Project::find_here()?, &args.id, &TerminalInteraction).await?) })?;
    out::print_message(&format!("{task} is ready again"));
    Ok(0)
}
