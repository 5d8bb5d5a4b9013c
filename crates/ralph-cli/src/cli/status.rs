//! `ralph status`.
use clap::Args;

use super::target::now;
use super::{block_on, out, pick, status_watch};
use crate::error::Failure;
use ralph_app::view::{Active, Life, LoopView, SettingUp};
use ralph_engine::control::{Driven, driven};
use ralph_engine::lock::Owner;
use ralph_engine::project::Project;
use ralph_store::{Lease, Store};

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

pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    block_on(async {
        let project = Project::here()?;
        if args.watch {
            return status_watch::watch(&project, args.json).await;
        }
        let store = pick::store().await?;
        let loops = match &store {
            Some(store) => loops(store, &project).await?,
            None => Vec::new(),
        };
        if args.json {
            out::line(
                &serde_json::Value::from(loops.iter().map(Active::json).collect::<Vec<_>>()).to_string(),
            );
        } else {
            out::answer(&text(&loops));
        }
        Ok(0)
    })
}

/// Returns the loops that are going on, or were when their ralph died.
pub async fn loops(store: &Store, project: &Project) -> Result<Vec<Active>, Failure> {
    // In this order: what begins meanwhile is seen twice rather than not at all.
    let leases = store.leases().await?;
    let rows = store.loops().await?;
    let tasks: Vec<String> = rows.iter().filter_map(|row| row.run.task.clone()).collect();
    let view = |row| {
        let life = match driven(project, &row) {
            Driven::By(_) => Life::Driven,
            Driven::Nobody => Life::Died,
        };
        Active::Loop(Box::new(LoopView::new(row, life)))
    };
    let is_at_work = |lease: &Lease| {
        let owner = Owner::parse(&lease.owner);
        !lease.is_over && !tasks.contains(&lease.claim.task) && owner.is_some_and(|it| !it.process.is_gone())
    };
    let set_up = leases.iter().filter(|lease| is_at_work(lease));
    let set_up = set_up.map(|lease| Active::SettingUp(SettingUp { task: lease.claim.task.clone() }));
    let set_up: Vec<Active> = set_up.collect();
    Ok(rows.into_iter().map(view).chain(set_up).collect())
}

/// Returns the list for people.
pub fn text(loops: &[Active]) -> String {
    if loops.is_empty() {
        return "No active Ralph loops\n".to_owned();
    }
    let now = now();
    let mut text = String::from("Active Ralph Loops:\n");
    for view in loops {
        text.push_str(&format!("  {}\n", view.line(now)));
        if let Some(detail) = view.detail() {
            text.push_str(&format!("    {detail}\n"));
        }
    }
    text
}
