//! Copies the database of a project.
use std::path::Path;

use ralph_engine::project::Project;

use crate::error::{AppError, AppResult};
use crate::run::open_existing_store;

/// Copies the database into a new file, also while runs are active.
pub async fn backup_database(project: &Project, file: &Path) -> AppResult<()> {
    let nothing = || AppError::preflight("this project has no runs yet: there is nothing to copy");
    let store = open_existing_store(project).await?.ok_or_else(nothing)?;
    Ok(store.backup_to(file).await?)
}
