//! `ralph export`: prints a run for `ralph import`.
use clap::Args;
use ralph_app::maintenance::export_run;
use ralph_engine::project::Project;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Prints a run as JSON lines: a header and its journal
///
/// Raw logs are not included. `ralph import` imports the file into another project.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph export > run.jsonl")]
pub struct ExportArgs {
    /// Beginning or end of a run id, or a task id [default: the newest run]
    #[arg(value_name = "RUN|TASK")]
    run: Option<String>,
}

pub fn run(args: &ExportArgs) -> Result<u8, CommandError> {
    let run = block_on(async { Ok(export_run(&Project::find_here()?, args.run.as_deref(), out::print_line).await?) })?;
    if args.run.is_none() {
        out::print_newest_run_note(&run);
    }
    Ok(0)
}
