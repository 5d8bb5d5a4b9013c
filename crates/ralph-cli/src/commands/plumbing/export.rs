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
    /// Beginning or end of a run id; without it, the newest run
    run: Option<String>,
}

pub fn run(args: &ExportArgs) -> Result<u8, CommandError> {
    block_on(async { Ok(export_run(&Project::find_here()?, args.run.as_deref(), out::print_line).await?) })?;
    Ok(0)
}
