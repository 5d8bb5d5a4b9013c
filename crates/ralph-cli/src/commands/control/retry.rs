//! `ralph retry`.
use clap::Args;
use ralph_app::control::retry_task;
use ralph_app::tasks::find_only_retryable_task;
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
    /// The task id; without one, the only task that is blocked or cancelled
    #[arg(value_name = "TASK")]
    id: Option<String>,
}

pub fn run(args: &RetryArgs) -> Result<u8, CommandError> {
    let task = block_on(async {
        let project = Project::find_here()?;
        let id = match &args.id {
            Some(id) => id.clone(),
            None => find_only_retryable_task(&project).await?,
        };
        Ok(retry_task(&project, &id, &TerminalInteraction).await?)
    })?;
    out::print_message(&format!("{task} is ready again"));
    Ok(0)
}
