//! Finds the run that a command names, in the project of the current directory.
use ralph_app::run::{self, FoundRun};
use ralph_engine::project::Project;
use ralph_store::{RunRow, Store};

use crate::error::CommandError;

/// Opens the store of the project, if it has one.
pub async fn open_existing_store() -> Result<Option<Store>, CommandError> {
    Ok(run::open_existing_store(&Project::find_here()?).await?)
}

/// Returns the run whose id starts or ends with `part`, or the newest run.
pub async fn find_run(part: Option<&str>) -> Result<FoundRun, CommandError> {
    Ok(run::find_run(&Project::find_here()?, part).await?)
}

/// Returns the newest runs with their actual status.
pub async fn list_runs(limit: u32) -> Result<Vec<RunRow>, CommandError> {
    Ok(run::list_runs(&Project::find_here()?, limit).await?)
}
