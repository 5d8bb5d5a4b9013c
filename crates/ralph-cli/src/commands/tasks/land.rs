//! `ralph land`: merges the work of finished tasks.
use clap::Args;
use ralph_core::outcome::exit_code;

use crate::commands::interaction::TerminalInteraction;
use crate::commands::run::execute::with_keeper;
use crate::commands::tasks::land_report::{preview_json, preview_text, report_text};
use crate::commands::{out, signal_exit_code};
use crate::error::CommandError;
use ralph_app::landing::{LandReport, LandingEnd, LandingPreview, land_tasks, preview_landings};
use ralph_app::tasks::find_only_unmerged_task;
use ralph_app::view::land_report_json;
use ralph_engine::project::Project;

/// Merges the accepted work of finished tasks into your branch, after verifying the merged result
///
/// ralph runs the checks of the task again, in a checkout of the merged result. It updates your branch and your files
/// only if they pass; after a conflict or a failure everything stays as it was. ralph removes the work tree of the task
/// and the branch ralph/TASK if nothing would be lost.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph land --dry-run TASK-001        what would be merged
  ralph land TASK-001 TASK-002
  ralph land                           the only finished task

Several tasks are landed in order, up to the first that cannot be landed.

Exit codes: 0 landed, 1 cannot be landed now (not done, a conflict, your uncommitted changes, no branch),
3 the checks fail on the merged result, 5 git failed")]
pub struct LandArgs {
    /// Finished tasks, in the order in which to merge them; without one, the only finished task that is not merged
    #[arg(value_name = "TASK")]
    tasks: Vec<String>,
    /// Shows what would be merged, with the changed files and the checks that would run; changes nothing
    #[arg(long)]
    dry_run: bool,
    /// Prints one object per task: task, landed, branch, commit, work, verified, checks, tree
    #[arg(long)]
    json: bool,
}

pub fn run(args: &LandArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    with_keeper(async |keeper| {
        let tasks = match args.tasks.as_slice() {
            [] => vec![find_only_unmerged_task(&project).await?],
            named => named.to_vec(),
        };
        if args.dry_run {
            let show = |preview: &LandingPreview| print_preview(args, preview);
            preview_landings(&project, &tasks, &keeper, &TerminalInteraction, show).await?;
            return Ok(exit_code::COMPLETED);
        }
        let report = |landed: &LandReport| print_report(args, landed);
        Ok(match land_tasks(&project, &tasks, &keeper, &TerminalInteraction, report).await? {
            LandingEnd::AllLanded => exit_code::COMPLETED,
            LandingEnd::ChecksFailed => exit_code::NOT_COMPLETE,
            LandingEnd::Stopped(signal) => signal_exit_code(signal),
        })
    })
}

fn print_preview(args: &LandArgs, preview: &LandingPreview) {
    if args.json {
        out::print_line(&preview_json(preview).to_string());
    } else {
        out::print_wrapped(&preview_text(preview));
    }
}

fn print_report(args: &LandArgs, report: &LandReport) {
    if args.json {
        out::print_line(&land_report_json(report).to_string());
    } else {
        out::print_wrapped(&report_text(report));
    }
}
