//! `ralph status`.
use clap::Args;

use super::loop_target::current_time;
use super::{block_on, out, run_lookup, status_watch};
use crate::error::CommandError;
use ralph_app::view::{ActiveWork, LoopLiveness, LoopView, TaskSetup};
use ralph_engine::control::{DriverStatus, find_driver};
use ralph_engine::lock::RunOwner;
use ralph_engine::project::Project;
use ralph_store::{LeaseRow, Store};

/// Says which loops are going on, where they are and what they do
///
/// A loop goes by its task, or by the end of its run's id where it has none. One whose ralph died is shown as such.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph status
  ralph status --watch         stays, and shows what changes; Ctrl-C leaves
  ralph status --json          an array; with --watch a line for every change")]
pub struct StatusArgs {
    /// Stays, and shows what changes
    #[arg(long, short)]
    watch: bool,
    /// Prints an array of objects, each with at least id and status
    #[arg(long)]
    json: bool,
}

pub fn run(args: &StatusArgs) -> Result<u8, CommandError> {
    block_on(async {
        let project = Project::find_here()?;
        if args.watch {
            return status_watch::watch_status(&project, args.json).await;
        }
        let store = run_lookup::open_existing_store().await?;
        let loops = match &store {
            Some(store) => load_active_loops(store, &project).await?,
            None => Vec::new(),
        };
        if args.json {
            out::print_line(
                &serde_json::Value::from(loops.iter().map(ActiveWork::to_json).collect::<Vec<_>>()).to_string(),
            );
        } else {
            out::print_wrapped(&format_loop_list(&loops));
        }
        Ok(0)
    })
}

/// Returns the loops that are going on, or were when their ralph died.
pub async fn load_active_loops(store: &Store, project: &Project) -> Result<Vec<ActiveWork>, CommandError> {
    // In this order: what begins meanwhile is seen twice rather than not at all.
    let leases = store.list_leases().await?;
    let rows = store.running_loops().await?;
    let tasks: Vec<String> = rows.iter().filter_map(|row| row.run.task.clone()).collect();
    let view = |row| {
        let life = match find_driver(project, &row) {
            DriverStatus::Driven(_) => LoopLiveness::Driven,
            DriverStatus::NotDriven => LoopLiveness::Died,
        };
        ActiveWork::Loop(Box::new(LoopView::new(row, life)))
    };
    let is_at_work = |lease: &LeaseRow| {
        let owner = RunOwner::parse(&lease.owner);
        !lease.is_expired
            && !tasks.contains(&lease.task_lease.task_id)
            && owner.is_some_and(|it| !it.process.has_exited_here())
    };
    let set_up = leases.iter().filter(|lease| is_at_work(lease));
    let set_up = set_up.map(|lease| ActiveWork::SettingUp(TaskSetup { task_id: lease.task_lease.task_id.clone() }));
    let set_up: Vec<ActiveWork> = set_up.collect();
    Ok(rows.into_iter().map(view).chain(set_up).collect())
}

/// Returns the list for people.
pub fn format_loop_list(loops: &[ActiveWork]) -> String {
    if loops.is_empty() {
        return "No active Ralph loops\n".to_owned();
    }
    let now = current_time();
    let mut text = String::from("Active Ralph Loops:\n");
    for view in loops {
        text.push_str(&format!("  {}\n", view.to_line(now)));
        if let Some(detail) = view.detail_line() {
            text.push_str(&format!("    {detail}\n"));
        }
    }
    text
}
