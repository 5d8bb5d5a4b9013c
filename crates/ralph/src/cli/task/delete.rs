//! `ralph task delete`.
use clap::Args;
use ralph_core::task::Author;

use super::{author, made_store, unknown};
use crate::cli::{block_on, out, pick};
use crate::engine::Clock;
use crate::error::Failure;
use crate::project::Project;
use crate::store::{TaskChange, TaskHead};
use crate::view::short_id;

/// Deletes tasks, all or none; what other tasks depend on stays
///
/// Runs of a deleted task stay, and `ralph runs` lists them. Agents of a run cannot delete tasks.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

pub fn run(args: &DeleteArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    if author(&project) == Author::Agent {
        return Err(
            Failure::preflight("an agent cannot delete tasks").hint("a person can, outside of the run")
        );
    }
    block_on(async {
        let store = made_store().await?;
        let decide = |there: &[TaskHead]| args.deletions(there, &project);
        let deleted: Result<(), Failure> = store.change_tasks(Clock::wall(), decide).await;
        store.close().await;
        deleted?;
        args.ids.iter().for_each(|id| out::line(&format!("task {id} is deleted")));
        Ok(0)
    })
}

impl DeleteArgs {
    fn deletions(&self, there: &[TaskHead], project: &Project) -> Result<Vec<TaskChange>, Failure> {
        let ids: Vec<&str> = there.iter().map(|head| head.id.as_str()).collect();
        for id in &self.ids {
            let head = there.iter().find(|head| head.id == *id).ok_or_else(|| unknown(id, &ids))?;
            self.is_wanted(head, there)?;
            at_rest(head, project)?;
        }
        Ok(self.ids.iter().map(|id| TaskChange::Delete { id: id.clone() }).collect())
    }

    /// Refuses to take away what a task that stays waits for.
    fn is_wanted(&self, head: &TaskHead, there: &[TaskHead]) -> Result<(), Failure> {
        let waits =
            |other: &&TaskHead| other.dependencies.contains(&head.id) && !self.ids.contains(&other.id);
        let waiting: Vec<&str> = there.iter().filter(waits).map(|other| other.id.as_str()).collect();
        match waiting.first() {
            None => Ok(()),
            Some(first) => Err(Failure::preflight(format!(
                "task {} cannot be deleted: {} depends on it",
                head.id,
                waiting.join(", ")
            ))
            .hint(format!(
                "delete that too, or give it other dependencies: ralph task edit {first} --depends …"
            ))),
        }
    }
}

/// Refuses to take away what an agent works on.
pub fn at_rest(head: &TaskHead, project: &Project) -> Result<(), Failure> {
    match &head.run {
        Some(run) if run.status == "running" && !pick::is_cut_short(project, &run.id) => {
            Err(Failure::preflight(format!("run {} is working on task {}", short_id(&run.id), head.id))
                .hint(format!("wait for its end, or end it with `ralph cancel {}`", head.id)))
        }
        Some(_) | None => Ok(()),
    }
}
