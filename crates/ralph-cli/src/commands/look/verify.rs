//! `ralph verify`.
use clap::Args;
use ralph_core::outcome::exit_code;

use crate::commands::look::verify_report::{report_json, report_text};
use crate::commands::run::execute::with_keeper;
use crate::commands::{out, signal_exit_code};
use crate::error::CommandError;
use ralph_app::verification::{ImportedCommands, Reverification, ReverificationReport, reverify_run};
use ralph_engine::project::Project;

/// Repeats the checks of a completed run on a fresh checkout of the verified commit, and compares the results
///
/// The commands also run on the commit from which the work started, as in the baseline, so that the proof level can be
/// compared. Your work tree is not touched, and judges are not asked again. Commands of a run that was imported with `ralph import`
/// are started only with --approve.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 confirmed, 3 not confirmed, 1 cannot be verified again (no receipt, no repeatable
check, the work was never committed, its commit is gone, verification.setup fails, or a check cannot run there)"
)]
pub struct VerifyArgs {
    /// The start or end of a run id, or a task id [default: the newest run]
    #[arg(value_name = "RUN|TASK")]
    run: Option<String>,
    /// Prints one object: run, confirmed, doubts, commit, tree, checks, baseline, proof, repeated_proof, not_repeated
    #[arg(long)]
    json: bool,
    /// Approves the commands of an imported run
    #[arg(long)]
    approve: bool,
}

pub fn run(args: &VerifyArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let imported = if args.approve { ImportedCommands::Approved } else { ImportedCommands::Refuse };
    with_keeper(async |keeper| match reverify_run(&project, args.run.as_deref(), imported, keeper).await? {
        Reverification::Finished(report) => print_report(args, &report),
        Reverification::Stopped(signal) => Ok(signal_exit_code(signal)),
    })
}

/// Prints the report, and returns the exit code.
fn print_report(args: &VerifyArgs, report: &ReverificationReport) -> Result<u8, CommandError> {
    if args.json {
        out::print_line(&report_json(report).to_string());
    } else {
        out::print_data(&report_text(report));
    }
    match report.inconclusive_error() {
        Some(error) => Err(error.into()),
        None if report.discrepancies.is_empty() => Ok(exit_code::COMPLETED),
        None => Ok(exit_code::NOT_COMPLETE),
    }
}
