//! Exports tasks so that an import reads them again unchanged.
use ralph_engine::project::Project;
use ralph_store::TaskRow;

use crate::error::AppResult;
use crate::run::open_existing_store;
use crate::task_files::{ExportedTask, unknown_id_error};

/// The tasks to export. Without ids and without a spec, all of them.
#[derive(Debug, Clone, Default)]
pub struct TaskExportFilter {
    pub ids: Vec<String>,
    pub spec: Option<String>,
}

/// Returns the tasks that the filter selects.
pub async fn export_tasks(project: &Project, filter: &TaskExportFilter) -> AppResult<Vec<ExportedTask>> {
    let rows = match open_existing_store(project).await? {
        Some(store) => store.list_full_tasks().await?,
        None => Vec::new(),
    };
    let known: Vec<&str> = rows.iter().map(|row| row.task.id.as_str()).collect();
    if let Some(id) = filter.ids.iter().find(|id| !known.contains(&id.as_str())) {
        return Err(unknown_id_error(id, &known));
    }
    let is_selected = |row: &&TaskRow| {
        (filter.ids.is_empty() || filter.ids.contains(&row.task.id))
            && (filter.spec.is_none() || filter.spec == row.task.spec_id)
    };
    let export = |row: &TaskRow| ExportedTask {
        task: row.task.clone(),
        metadata: serde_json::from_str(&row.metadata).unwrap_or_default(),
        approval: row.approval,
    };
    Ok(rows.iter().filter(is_selected).map(export).collect())
}
