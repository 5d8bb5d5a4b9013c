//! `ralph backup`: copies the database.
use std::path::PathBuf;

use clap::Args;
use ralph_app::maintenance::backup_database;
use ralph_engine::project::Project;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Copies the database of this project to a file, even while runs are active
///
/// The copy is consistent. It does not include raw logs. ralph never overwrites an existing file.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph backup ../ralph-backup.db

To restore it, put it in place of the database in the state folder, which `ralph doctor` shows as STATE:
  mv STATE STATE.old && mkdir -m 700 STATE && cp ../ralph-backup.db STATE/ralph.db")]
pub struct BackupArgs {
    /// File to create
    file: PathBuf,
}

pub fn run(args: &BackupArgs) -> Result<u8, CommandError> {
    block_on(async { Ok(backup_database(&Project::find_here()?, &args.file).await?) })?;
    out::print_note(&format!("database copied to {}", args.file.display()));
    Ok(0)
}
