//! `ralph task delete`.
use clap::Args;
use ralph_core::task::Author;

use super::{author, made_store, unknown};
use crate::cli::tree_hold::{TreeHold, Whose};
use crate::cli::{block_on, out, pick};
use crate::error::Failure;
use ralph_app::view::{one_or_many, short_id};
use ralph_engine::engine::Clock;
use ralph_engine::project::Project;
use ralph_engine::tree::{self, Site};
use ralph_store::{Store, TaskChange, TaskHead};

/// Deletes tasks, all or none; what other tasks depend on stays
///
/// The work tree of a task and its branch ralph/TASK go too, where nothing is lost with them. A task with work that is not
/// merged is refused unless you say --leave-work. Runs of a deleted task stay, and `ralph runs` lists them. Agents of a run
/// cannot delete tasks.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Leaves work trees and branches where they are; a new task of the same id goes on in them
    #[arg(long)]
    leave_work: bool,
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
        let mut holds = Vec::new();
        let deleted = args.delete(&store, &project, &mut holds).await;
        for hold in holds {
            hold.release(&store).await?;
        }
        store.close().await;
        deleted?.iter().for_each(|line| out::line(line));
        Ok(0)
    })
}

impl DeleteArgs {
    /// Deletes them while no worker can take one. Returns what is to be told.
    async fn delete(
        &self,
        store: &Store,
        project: &Project,
        holds: &mut Vec<TreeHold>,
    ) -> Result<Vec<String>, Failure> {
        self.deletions(&store.tasks().await?, project)?;
        for id in &self.ids {
            holds.push(Whose::find(store, id).await?.hold(store, project).await?);
        }
        let told = if self.leave_work { self.left(project) } else { self.cleared(project)? };
        let decide = |there: &[TaskHead]| self.deletions(there, project);
        store.change_tasks(Clock::wall(), decide).await.map(|()| told)
    }

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

    /// Says what stays where it is.
    fn left(&self, project: &Project) -> Vec<String> {
        let left = |id: &String| {
            let site = Site::of(project).ok();
            let work = site.and_then(|site| tree::unmerged(&site, id).ok()).unwrap_or_default();
            let stays = work.into_iter().map(|what| format!("it stays: {what}"));
            std::iter::once(deleted(id)).chain(stays).collect::<Vec<_>>()
        };
        self.ids.iter().flat_map(left).collect()
    }

    /// Takes away what the tasks have in the repository. Where something would be lost, nothing is touched.
    fn cleared(&self, project: &Project) -> Result<Vec<String>, Failure> {
        let site = Site::of(project)?;
        for id in &self.ids {
            let left = tree::unmerged(&site, id)?;
            if !left.is_empty() {
                return Err(unmerged(id, &left));
            }
        }
        let mut told = Vec::new();
        for id in &self.ids {
            let forgotten = tree::forget(&site, id)?;
            told.push(deleted(id));
            told.extend(forgotten.tree.map(|path| format!("removed the work tree {}", path.display())));
            if let Some(first) = forgotten.kept.first() {
                let count = i64::try_from(forgotten.kept.len()).unwrap_or(i64::MAX);
                told.push(format!(
                    "what attempts have left is kept: {}, {first}",
                    one_or_many(count, "reference")
                ));
            }
        }
        Ok(told)
    }
}

fn deleted(id: &str) -> String {
    format!("task {id} is deleted")
}

fn unmerged(id: &str, left: &[String]) -> Failure {
    let failure = Failure::preflight(format!("task {id} has work that is not merged"));
    let failure = left.iter().fold(failure, Failure::cause);
    failure.hint(format!(
        "merge it (`ralph land {id}` where it is done), or leave it where it is: ralph task delete {id} --leave-work"
    ))
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
