//! `ralph task export`.
use clap::Args;
use ralph_app::task_files;
use ralph_app::tasks::{TaskExportFilter, export_tasks};
use ralph_engine::project::Project;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Prints tasks as YAML that `ralph task import` reads without loss
///
/// One task is printed as `task:`, several as a list.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task export > tasks.yaml
  ralph task export TASK-001 TASK-002
  ralph task export --spec auth")]
pub struct TaskExportArgs {
    /// The task ids [default: all tasks]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Only tasks of this spec
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
}

pub fn run(args: &TaskExportArgs) -> Result<u8, CommandError> {
    let filter = TaskExportFilter { ids: args.ids.clone(), spec: args.spec.clone() };
    let tasks = block_on(async { Ok(export_tasks(&Project::find_here()?, &filter).await?) })?;
    out::print_data(&task_files::render_yaml(&tasks));
    Ok(0)
}
