//! `ralph export`.
use clap::Args;
use ralph_app::maintenance::export_run;
use ralph_engine::project::Project;

use super::{block_on, out};
use crate::error::CommandError;

/// Prints a run as one file: a header and its journal, as JSON lines
///
/// Without RUN, the newest. Raw logs stay where they are. `ralph import` imports the file in another project.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph export > run.jsonl")]
pub struct ExportArgs {
    run: Option<String>,
}

pub fn run(args: &ExportArgs) -> Result<u8, CommandError> {
    block_on(async { Ok(export_run(&Project::find_here()?, args.run.as_deref(), out::print_line).await?) })?;
    Ok(0)
}
