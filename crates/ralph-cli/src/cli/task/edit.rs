//! `ralph task edit`.
use clap::Args;
use ralph_core::task::{Approval, Status, Task};

use super::field_args::{FieldArgs, status};
use super::held::{Written, held};
use super::{author, awaits, moved_by, picked};
use crate::cli::tree_hold::Whose;
use crate::cli::{block_on, out};
use crate::error::Failure;
use ralph_app::task::Origin;
use ralph_engine::engine::Clock;
use ralph_engine::project::Project;
use ralph_store::{TaskChange, TaskHead, TaskRow};
use ralph_util::fail::{self, Point};

/// Changes a task: what a flag says replaces what was there
///
/// A run that is going on keeps the criteria with which it began. What waits for approval goes on waiting: only `ralph
/// task approve` approves. Where an agent of a run changes what done means, that waits for approval; the status of a task
/// is not an agent's to set.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task edit TASK-001 --priority 1 --depends TASK-000
  ralph task edit TASK-001 --status todo
  ralph task edit TASK-001 --tester-verify-cmd 'make test' --tester-max-iterations 3")]
pub struct EditArgs {
    id: String,
    /// What is to be done, in one line
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The spec that it belongs to
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// todo, coding, reviewing, testing, qa, done, blocked or cancelled
    #[arg(long, value_parser = status)]
    status: Option<Status>,
    #[command(flatten)]
    fields: FieldArgs,
}

pub fn run(args: &EditArgs) -> Result<u8, Failure> {
    block_on(async {
        let (store, row) = picked(&args.id).await?;
        let task = args.changed(&row)?;
        let project = Project::here()?;
        let author = author(&project);
        moved_by(author, row.task.status, &task)?;
        // Whoever works on a task says itself what becomes of it.
        let hold = match task.status == row.task.status {
            true => None,
            false => Some(Whose::find(&store, &args.id).await?.hold(&store, &project).await?),
        };
        fail::point(Point::EditHeld);
        let approval = Approval::after(row.approval, Some(&row.task), &task, author);
        let decide = |there: &[TaskHead]| {
            unchanged(there, &row)?;
            args.fields.untangled(&task, there)?;
            Ok(vec![TaskChange::Replace { task: task.clone(), approval }])
        };
        let changed: Result<(), Failure> = store.change_tasks(Clock::wall(), decide).await;
        if let Some(hold) = hold {
            hold.release(&store).await?;
        }
        store.close().await;
        changed?;
        out::line(&format!("task {} is changed", args.id));
        if approval == Approval::Awaited {
            out::note(&awaits(&args.id));
        }
        Ok(0)
    })
}

impl EditArgs {
    fn changed(&self, row: &TaskRow) -> Result<Task, Failure> {
        let mut task = row.task.clone();
        if let Some(title) = &self.title {
            task.title.clone_from(title);
        }
        task.spec_id = self.spec.clone().or(task.spec_id);
        task.status = self.status.unwrap_or(task.status);
        self.fields.apply(&mut task)?;
        if task == row.task {
            return Err(
                Failure::usage("nothing would change").hint("`ralph task edit --help` lists the flags")
            );
        }
        held(&task, &Written { task: &row.task, origin: &Origin::Command("ralph task edit") })?;
        Ok(task)
    }
}

/// What somebody else wrote meanwhile is not lost.
fn unchanged(there: &[TaskHead], row: &TaskRow) -> Result<(), Failure> {
    let now = there.iter().find(|head| head.id == row.task.id);
    if now.is_some_and(|head| head.updated_at == row.updated_at) {
        return Ok(());
    }
    Err(Failure::preflight(format!("task {} was changed by somebody else just now", row.task.id))
        .hint("try again"))
}
