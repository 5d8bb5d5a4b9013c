//! `ralph import`: imports an exported run.
use std::path::PathBuf;

use clap::Args;
use ralph_app::maintenance::{ExportedRun, import_run};
use ralph_app::view::short_id;
use ralph_engine::project::Project;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Imports a run that `ralph export` wrote
///
/// An invalid file changes nothing. ralph refuses a run that the project already has.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// File that `ralph export` wrote
    file: PathBuf,
}

pub fn run(args: &ImportArgs) -> Result<u8, CommandError> {
    let exported = ExportedRun::read_file(&args.file)?;
    block_on(async { Ok(import_run(&Project::find_here()?, &exported).await?) })?;
    let id = exported.run_id();
    out::print_note(&format!("imported run {id}: ralph show {}", short_id(id)));
    Ok(0)
}
