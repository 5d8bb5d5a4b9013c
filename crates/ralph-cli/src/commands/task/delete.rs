//! `ralph task delete`.
use clap::Args;
use ralph_core::task::TaskAuthor;

use super::{current_author, open_or_create_store, unknown_task_error};
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::tasks::ensure_not_running;
use ralph_app::view::pluralize;
use ralph_app::worktrees::{WorktreeOwner, WorktreeReservation};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_engine::worktree::{self, WorktreeLayout};
use ralph_store::{Store, TaskChange, TaskListItem};

/// Deletes tasks, all or none; what other tasks depend on stays
///
/// The work tree of a task and its branch ralph/TASK go too, where nothing is lost with them. A task with work that is not
/// merged is refused unless you say --leave-work. Runs of a deleted task stay, and `ralph runs` lists them. Agents of a run
/// cannot delete tasks.
#[derive(Debug, Args)]
pub struct TaskDeleteArgs {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Leaves work trees and branches where they are; a new task of the same id goes on in them
    #[arg(long)]
    leave_work: bool,
}

pub fn run(args: &TaskDeleteArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    if current_author(&project) == TaskAuthor::Agent {
        return Err(
            CommandError::preflight_error("an agent cannot delete tasks").with_hint("a person can, outside of the run")
        );
    }
    block_on(async {
        let store = open_or_create_store().await?;
        let mut reservations = Vec::new();
        let deleted = args.delete_tasks(&store, &project, &mut reservations).await;
        for hold in reservations {
            hold.release(&store).await?;
        }
        store.close().await;
        deleted?.iter().for_each(|line| out::print_line(line));
        Ok(0)
    })
}

impl TaskDeleteArgs {
    /// Deletes them while no worker can take one. Returns what is to be told.
    async fn delete_tasks(
        &self,
        store: &Store,
        project: &Project,
        reservations: &mut Vec<WorktreeReservation>,
    ) -> Result<Vec<String>, CommandError> {
        self.plan_deletions(&store.list_tasks().await?, project)?;
        for id in &self.ids {
            reservations.push(WorktreeOwner::find(store, id).await?.reserve_worktree(store, project).await?);
        }
        let told = if self.leave_work { self.describe_kept_work(project) } else { self.remove_work(project)? };
        let decide = |there: &[TaskListItem]| self.plan_deletions(there, project);
        store.change_tasks(Clock::wall_now(), decide).await.map(|()| told)
    }

    fn plan_deletions(&self, there: &[TaskListItem], project: &Project) -> Result<Vec<TaskChange>, CommandError> {
        let ids: Vec<&str> = there.iter().map(|head| head.id.as_str()).collect();
        for id in &self.ids {
            let head = there.iter().find(|head| head.id == *id).ok_or_else(|| unknown_task_error(id, &ids))?;
            self.ensure_no_dependents(head, there)?;
            ensure_not_running(head, project)?;
        }
        Ok(self.ids.iter().map(|id| TaskChange::Delete { id: id.clone() }).collect())
    }

    /// Refuses to take away what a task that stays waits for.
    fn ensure_no_dependents(&self, head: &TaskListItem, there: &[TaskListItem]) -> Result<(), CommandError> {
        let waits = |other: &&TaskListItem| other.dependencies.contains(&head.id) && !self.ids.contains(&other.id);
        let waiting: Vec<&str> = there.iter().filter(waits).map(|other| other.id.as_str()).collect();
        match waiting.first() {
            None => Ok(()),
            Some(first) => Err(CommandError::preflight_error(format!(
                "task {} cannot be deleted: {} depends on it",
                head.id,
                waiting.join(", ")
            ))
            .with_hint(format!("delete that too, or give it other dependencies: ralph task edit {first} --depends …"))),
        }
    }

    /// Says what stays where it is.
    fn describe_kept_work(&self, project: &Project) -> Vec<String> {
        let left = |id: &String| {
            let site = WorktreeLayout::for_project(project).ok();
            let work = site.and_then(|site| worktree::describe_unmerged_work(&site, id).ok()).unwrap_or_default();
            let stays = work.into_iter().map(|what| format!("it stays: {what}"));
            std::iter::once(deleted_message(id)).chain(stays).collect::<Vec<_>>()
        };
        self.ids.iter().flat_map(left).collect()
    }

    /// Takes away what the tasks have in the repository. Where something would be lost, nothing is touched.
    fn remove_work(&self, project: &Project) -> Result<Vec<String>, CommandError> {
        let site = WorktreeLayout::for_project(project)?;
        for id in &self.ids {
            let left = worktree::describe_unmerged_work(&site, id)?;
            if !left.is_empty() {
                return Err(unmerged_work_error(id, &left));
            }
        }
        let mut told = Vec::new();
        for id in &self.ids {
            let forgotten = worktree::forget_task(&site, id)?;
            told.push(deleted_message(id));
            told.extend(forgotten.worktree_path.map(|path| format!("removed the work tree {}", path.display())));
            if let Some(first) = forgotten.kept_refs.first() {
                let count = i64::try_from(forgotten.kept_refs.len()).unwrap_or(i64::MAX);
                told.push(format!("what attempts have left is kept: {}, {first}", pluralize(count, "reference")));
            }
        }
        Ok(told)
    }
}

fn deleted_message(id: &str) -> String {
    format!("task {id} is deleted")
}

fn unmerged_work_error(id: &str, left: &[String]) -> CommandError {
    let failure = CommandError::preflight_error(format!("task {id} has work that is not merged"));
    let failure = left.iter().fold(failure, CommandError::with_cause);
    failure.with_hint(format!(
        "merge it (`ralph land {id}` where it is done), or leave it where it is: ralph task delete {id} --leave-work"
    ))
}
