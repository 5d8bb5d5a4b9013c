//! `ralph verify`.
use clap::Args;
use ralph_core::outcome::exit_code;

use super::run::with_keeper;
use super::verify_report::{report_json, report_text};
use super::{out, run_lookup, signal_exit_code};
use crate::error::CommandError;
use ralph_app::run::{FoundRun, refuse_recursion};
use ralph_app::verification::{self, ImportedCommands, Reverification};
use ralph_engine::project::Project;
use ralph_process::Keeper;

/// Repeats the checks of a completed run on a fresh checkout of the verified commit, and compares the results
///
/// Your work tree is not touched, and judges are not asked again. Commands of a run that was imported with `ralph import`
/// are started only with --approve.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 confirmed, 3 not confirmed, 1 cannot be verified again (no receipt, no repeatable
check, the work was never committed, its commit is gone, verification.setup fails, or a check cannot run there)"
)]
pub struct VerifyArgs {
    /// The start or end of a run id [default: the newest run]
    run: Option<String>,
    /// Prints one object: run, confirmed, doubts, commit, tree, checks, not_repeated
    #[arg(long)]
    json: bool,
    /// Approves the commands of an imported run
    #[arg(long)]
    approve: bool,
}

pub fn run(args: &VerifyArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    with_keeper(|keeper| reverify_run(args, project, keeper))
}

async fn reverify_run(args: &VerifyArgs, project: Project, keeper: Keeper) -> Result<u8, CommandError> {
    let FoundRun { store, run } = run_lookup::find_run(args.run.as_deref()).await?;
    let imported = if args.approve { ImportedCommands::Approved } else { ImportedCommands::Refuse };
    let report = match verification::reverify_run(&store, &project, run, imported, keeper).await? {
        Reverification::Finished(report) => report,
        Reverification::Stopped(signal) => return Ok(signal_exit_code(signal)),
    };
    if args.json {
        out::print_line(&report_json(&report).to_string());
    } else {
        out::print_data(&report_text(&report));
    }
    match report.inconclusive_error() {
        Some(error) => Err(error.into()),
        None if report.doubts.is_empty() => Ok(exit_code::COMPLETED),
        None => Ok(exit_code::NOT_COMPLETE),
    }
}
