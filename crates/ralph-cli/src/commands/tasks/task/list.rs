//! `ralph task list`.
use std::io;

use clap::Args;
use ralph_app::tasks::{TaskList, TaskListFilter, list_tasks};
use ralph_app::view::{TASK_COLUMNS, TaskListItemJson, task_cells};
use ralph_core::task::TaskStatus;
use ralph_engine::project::Project;

use super::args::field_args::parse_status;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::TextTable;

/// Lists tasks by priority, then by age
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task list --status todo,blocked
  ralph task list --ready --json | jq -r '.[].id'")]
pub struct TaskListArgs {
    /// Only tasks with this status; repeat for more
    #[arg(long, value_parser = parse_status, value_delimiter = ',')]
    status: Vec<TaskStatus>,
    /// Only tasks of this spec
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// Only tasks that can start: status todo, approved, all dependencies done
    #[arg(long)]
    ready: bool,
    /// Prints an array of objects, each with at least id and status
    #[arg(long)]
    json: bool,
}

pub fn run(args: &TaskListArgs) -> Result<u8, CommandError> {
    let filter = TaskListFilter { statuses: args.status.clone(), spec: args.spec.clone(), ready_only: args.ready };
    let TaskList { tasks, total } = block_on(async { Ok(list_tasks(&Project::find_here()?, &filter).await?) })?;
    if args.json {
        let rows = tasks.iter().map(|task| TaskListItemJson::from_list_item(&task.item, &task.blockers()));
        let rows: Vec<_> = rows.collect();
        out::print_line(&serde_json::to_string(&rows).unwrap_or_default());
    } else if tasks.is_empty() {
        let note = if total == 0 {
            "no tasks yet; create one with `ralph task create`"
        } else {
            "no task matches these filters"
        };
        out::print_note(note);
    } else {
        let rows = tasks.iter().map(|task| task_cells(&task.item, &task.blockers())).collect();
        out::print_data(&TextTable::new(TASK_COLUMNS, rows).render_for(&io::stdout()));
    }
    Ok(0)
}
