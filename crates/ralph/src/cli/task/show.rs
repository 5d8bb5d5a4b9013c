//! `ralph task show`.
use clap::Args;

use super::picked;
use crate::cli::{block_on, out};
use crate::error::Failure;
use crate::store::{Store, TaskRow};
use crate::view::{RunView, TaskView};

/// Shows a task: what done means for each role, and what became of every claim
#[derive(Debug, Args)]
pub struct ShowArgs {
    id: String,
    /// Prints one object: id, status, completion, runs and the rest
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ShowArgs) -> Result<u8, Failure> {
    block_on(async {
        let (store, row) = picked(&args.id).await?;
        let view = view(&store, row).await?;
        if args.json {
            out::line(&view.json().to_string());
        } else {
            out::data(&view.text());
        }
        Ok(0)
    })
}

async fn view(store: &Store, row: TaskRow) -> Result<TaskView, Failure> {
    let mut runs = Vec::new();
    for (role, run) in store.runs_of_task(&row.task.id).await? {
        runs.push((role, RunView::load(store, run).await?));
    }
    let heads = store.tasks().await?;
    Ok(TaskView::new(row, runs, &heads))
}
