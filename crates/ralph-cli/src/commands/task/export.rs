//! `ralph task export`.
use clap::Args;

use super::unknown_task_error;
use crate::commands::{block_on, out, run_lookup};
use crate::error::CommandError;
use ralph_app::task::{self, ExportedTask};
use ralph_store::TaskRow;

/// Prints tasks as YAML that `ralph task import` reads again unchanged
///
/// Without ID, all of them. One task is a `task:`, several are a list.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task export > tasks.yaml
  ralph task export TASK-001 TASK-002
  ralph task export --spec auth")]
pub struct TaskExportArgs {
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Only tasks of this spec
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
}

pub fn run(args: &TaskExportArgs) -> Result<u8, CommandError> {
    let rows = block_on(async {
        match run_lookup::open_existing_store().await? {
            Some(store) => Ok(store.list_full_tasks().await?),
            None => Ok(Vec::new()),
        }
    })?;
    let ids: Vec<&str> = rows.iter().map(|row| row.task.id.as_str()).collect();
    if let Some(id) = args.ids.iter().find(|id| !ids.contains(&id.as_str())) {
        return Err(unknown_task_error(id, &ids));
    }
    let is_meant = |row: &&TaskRow| {
        (args.ids.is_empty() || args.ids.contains(&row.task.id))
            && (args.spec.is_none() || args.spec == row.task.spec_id)
    };
    let outgoing = |row: &TaskRow| ExportedTask {
        task: row.task.clone(),
        metadata: serde_json::from_str(&row.metadata).unwrap_or_default(),
        approval: row.approval,
    };
    let tasks: Vec<ExportedTask> = rows.iter().filter(is_meant).map(outgoing).collect();
    out::print_data(&task::render_yaml(&tasks));
    Ok(0)
}
