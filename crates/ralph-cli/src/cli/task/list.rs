//! `ralph task list`.
use std::collections::BTreeMap;

use clap::Args;
use ralph_core::task::{Status, unmet};

use super::field_args::status;
use crate::cli::{block_on, out, pick};
use crate::error::Failure;
use ralph_app::view::{TaskHeadJson, is_ready, task_line};
use ralph_store::TaskHead;

/// Lists tasks, the most urgent first, then the oldest
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task list --status todo,blocked
  ralph task list --ready --json | jq -r '.[].id'")]
pub struct ListArgs {
    /// Only tasks with this status; repeat for more
    #[arg(long, value_parser = status, value_delimiter = ',')]
    status: Vec<Status>,
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

pub fn run(args: &ListArgs) -> Result<u8, Failure> {
    let tasks = block_on(async {
        match pick::store().await? {
            Some(store) => Ok(store.tasks().await?),
            None => Ok(Vec::new()),
        }
    })?;
    let statuses: BTreeMap<&str, Status> = tasks.iter().map(|task| (task.id.as_str(), task.status)).collect();
    let shown: Vec<_> = tasks
        .iter()
        .filter(|task| args.is_meant(task))
        .map(|task| (task, unmet(&task.dependencies, |id| statuses.get(id).copied())))
        .filter(|(task, waits)| !args.ready || is_ready(task, waits))
        .collect();
    if args.json {
        let rows: Vec<_> = shown.iter().map(|(task, waits)| TaskHeadJson::of(task, waits)).collect();
        out::line(&serde_json::to_string(&rows).unwrap_or_default());
    } else if shown.is_empty() {
        out::note(if tasks.is_empty() {
            "no tasks yet; make one with `ralph task create`"
        } else {
            "no such tasks"
        });
    } else {
        let text: String = shown.iter().map(|(task, waits)| task_line(task, waits) + "\n").collect();
        out::answer(&text);
    }
    Ok(0)
}

impl ListArgs {
    fn is_meant(&self, task: &TaskHead) -> bool {
        (self.status.is_empty() || self.status.contains(&task.status))
            && (self.spec.is_none() || self.spec == task.spec)
    }
}
