//! `ralph task show`.
use clap::Args;
use ralph_app::config::Settings;
use ralph_app::control::waits_for_decision;
use ralph_app::task_files::find_task;
use ralph_app::tasks::load_task_view;
use ralph_engine::project::Project;

use crate::commands::args::config_args::ConfigArgs;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::hints;

/// Shows a task: the criteria of each role, and the result of every claim
#[derive(Debug, Args)]
pub struct TaskShowArgs {
    /// The task id
    id: String,
    /// Prints one object: id, status, completion, runs and more
    #[arg(long)]
    json: bool,
}

pub fn run(args: &TaskShowArgs) -> Result<u8, CommandError> {
    block_on(async {
        let project = Project::find_here()?;
        let found = find_task(&project, &args.id).await?;
        let view = load_task_view(&project, found, &load_settings(&project)).await?;
        if args.json {
            out::print_line(&view.to_json().to_string());
        } else {
            out::print_wrapped(&view.to_text());
            if view.is_blocked() && waits_for_decision(&project, &args.id).await? {
                out::print_note(&format!("decide: {}", hints::for_waiting_claim(&args.id)));
            }
        }
        Ok(0)
    })
}

/// Returns the settings of the project, or the defaults with a warning if its configuration is invalid.
fn load_settings(project: &Project) -> Settings {
    ConfigArgs::default().load_settings(Some(project)).unwrap_or_else(|failure| {
        out::print_note(&format!("warning: {}; the roles are shown with built-in settings", failure.message));
        Settings::default()
    })
}
