//! `ralph task export`.
use clap::Args;

use super::unknown;
use crate::cli::{block_on, out, pick};
use crate::error::Failure;
use ralph_app::task::{self, Outgoing};
use ralph_store::TaskRow;

/// Prints tasks as YAML that `ralph task import` reads again unchanged
///
/// Without ID, all of them. One task is a `task:`, several are a list.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task export > tasks.yaml
  ralph task export TASK-001 TASK-002
  ralph task export --spec auth")]
pub struct ExportArgs {
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Only tasks of this spec
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
}

pub fn run(args: &ExportArgs) -> Result<u8, Failure> {
    let rows = block_on(async {
        match pick::store().await? {
            Some(store) => Ok(store.whole_tasks().await?),
            None => Ok(Vec::new()),
        }
    })?;
    let ids: Vec<&str> = rows.iter().map(|row| row.task.id.as_str()).collect();
    if let Some(id) = args.ids.iter().find(|id| !ids.contains(&id.as_str())) {
        return Err(unknown(id, &ids));
    }
    let is_meant = |row: &&TaskRow| {
        (args.ids.is_empty() || args.ids.contains(&row.task.id))
            && (args.spec.is_none() || args.spec == row.task.spec_id)
    };
    let outgoing = |row: &TaskRow| Outgoing {
        task: row.task.clone(),
        metadata: serde_json::from_str(&row.metadata).unwrap_or_default(),
        approval: row.approval,
    };
    let tasks: Vec<Outgoing> = rows.iter().filter(is_meant).map(outgoing).collect();
    out::data(&task::yaml(&tasks));
    Ok(0)
}
