//! Imports a run that was exported elsewhere.
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use ralph_engine::project::Project;
use ralph_store::{ExportHeader, ImportedFact};

use super::import_journal::parse_export;
use crate::advice::Advice;
use crate::error::{AppError, AppResult};
use crate::task_files::open_or_create_store;

/// The contents of an export.
pub struct ExportedRun {
    pub(super) header: ExportHeader,
    pub(super) facts: Vec<ImportedFact>,
}

impl ExportedRun {
    /// Reads and checks the file of an export.
    pub fn read_file(path: &Path) -> AppResult<Self> {
        let name = path.display();
        let file = File::open(path)
            .map_err(|error| AppError::preflight(format!("the file {name} cannot be read")).with_cause(error))?;
        parse_export(BufReader::new(file)).map_err(|error| {
            AppError::preflight(format!("{name}, line {}: {}", error.line, error.message))
                .with_advice(Advice::ExportRun)
        })
    }

    /// Returns the id of the run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.header.id
    }
}

/// Stores a run that the project does not have yet.
pub async fn import_run(project: &Project, exported: &ExportedRun) -> AppResult<()> {
    let store = open_or_create_store(project).await?;
    let id = exported.run_id();
    if !store.find_runs_by_id_part(id).await?.is_empty() {
        return Err(AppError::preflight(format!("this project already has run {id}")));
    }
    Ok(store.import_run(&exported.header, &exported.facts).await?)
}
