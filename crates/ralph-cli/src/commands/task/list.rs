//! `ralph task list`.
use std::collections::BTreeMap;

use clap::Args;
use ralph_core::task::{TaskStatus, unmet_dependencies};

use super::field_args::parse_status;
use crate::commands::{block_on, out, run_lookup};
use crate::error::CommandError;
use ralph_app::view::{TaskListItemJson, is_task_ready, task_line};
use ralph_store::TaskListItem;

/// Lists tasks, the most urgent first, then the oldest
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
    /// Only tasks that are to do and wait for nothing, approval included
    #[arg(long)]
    ready: bool,
    /// Prints an array of objects, each with at least id and status
    #[arg(long)]
    json: bool,
}

pub fn run(args: &TaskListArgs) -> Result<u8, CommandError> {
    let tasks = block_on(async {
        match run_lookup::open_existing_store().await? {
            Some(store) => Ok(store.list_tasks().await?),
            None => Ok(Vec::new()),
        }
    })?;
    let statuses: BTreeMap<&str, TaskStatus> = tasks.iter().map(|task| (task.id.as_str(), task.status)).collect();
    let shown: Vec<_> = tasks
        .iter()
        .filter(|task| args.is_selected(task))
        .map(|task| (task, unmet_dependencies(&task.dependencies, |id| statuses.get(id).copied())))
        .filter(|(task, waits)| !args.ready || is_task_ready(task, waits))
        .collect();
    if args.json {
        let rows: Vec<_> = shown.iter().map(|(task, waits)| TaskListItemJson::from_list_item(task, waits)).collect();
        out::print_line(&serde_json::to_string(&rows).unwrap_or_default());
    } else if shown.is_empty() {
        out::print_note(if tasks.is_empty() {
            "no tasks yet; make one with `ralph task create`"
        } else {
            "no such tasks"
        });
    } else {
        let text: String = shown.iter().map(|(task, waits)| task_line(task, waits) + "\n").collect();
        out::print_wrapped(&text);
    }
    Ok(0)
}

impl TaskListArgs {
    fn is_selected(&self, task: &TaskListItem) -> bool {
        (self.status.is_empty() || self.status.contains(&task.status))
            && (self.spec.is_none() || self.spec == task.spec)
    }
}
