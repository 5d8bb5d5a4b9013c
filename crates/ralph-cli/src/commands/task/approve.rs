//! `ralph task approve`: a person accepts what an agent wrote about when a task is done.
use clap::{ArgGroup, Args};
use ralph_core::task::{Approval, TaskAuthor, completion_terms};

use super::{current_author, open_task_store, unknown_task_error};
use crate::commands::{block_on, confirm, out};
use crate::error::CommandError;
use ralph_app::view::pluralize;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{Store, TaskChange, TaskListItem, TaskRow};
use ralph_util::sanitize::escape_hidden;

/// Lets tasks be worked on for which an agent wrote what decides
///
/// Shows outcome, acceptance and every command, plugin and template that these tasks would start, as they are, and asks. A
/// task that was not approved does not run. Editing a task does not approve it.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["ids", "spec", "all"])))]
#[command(after_help = "Examples:
  ralph task approve auth-001
  ralph task approve --spec auth --yes        without a question, such as in a script

Exit codes: 0 approved, or nothing to approve; 1 not approved; 64 no such task")]
pub struct TaskApproveArgs {
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All tasks of this spec
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// All tasks
    #[arg(long)]
    all: bool,
    /// Approves without asking
    #[arg(long, short)]
    yes: bool,
}

pub fn run(args: &TaskApproveArgs) -> Result<u8, CommandError> {
    if current_author(&Project::find_here()?) == TaskAuthor::Agent {
        return Err(CommandError::preflight_error("an agent cannot approve what agents wrote")
            .with_hint("a person approves, in a terminal outside of the run or session"));
    }
    block_on(async {
        let store = open_task_store().await?;
        let waiting = args.tasks_awaiting_approval(&store).await?;
        if waiting.is_empty() {
            out::print_message("nothing to approve: nothing that an agent wrote waits for it");
            return Ok(0);
        }
        waiting.iter().for_each(print_terms);
        let what = pluralize(waiting.len() as i64, "task");
        if !args.yes {
            confirm::require_confirmation(&format!("{what} not approved"))?;
        }
        let approved = store.change_tasks(Clock::wall_now(), |there| build_approvals(&waiting, there)).await;
        store.close().await;
        approved?;
        out::print_message(&format!("{what} approved"));
        Ok(0)
    })
}

impl TaskApproveArgs {
    /// Returns the tasks that are meant and wait.
    async fn tasks_awaiting_approval(&self, store: &Store) -> Result<Vec<TaskRow>, CommandError> {
        let rows = store.list_full_tasks().await?;
        let ids: Vec<&str> = rows.iter().map(|row| row.task.id.as_str()).collect();
        if let Some(id) = self.ids.iter().find(|id| !ids.contains(&id.as_str())) {
            return Err(unknown_task_error(id, &ids));
        }
        let is_meant = |row: &TaskRow| {
            self.all || self.ids.contains(&row.task.id) || self.spec.is_some() && self.spec == row.task.spec_id
        };
        Ok(rows.into_iter().filter(|row| row.approval == Approval::Pending && is_meant(row)).collect())
    }
}

/// Shows what decides, and what would be started. An agent may have written it to look like something else.
fn print_terms(row: &TaskRow) {
    out::print_message(&escape_hidden(&format!("{}  {}", row.task.id, row.task.title)));
    for start in completion_terms(&row.task) {
        let what = escape_hidden(&start.description).replace('\n', "\n      ");
        out::print_message(&format!("  {}\n      {what}", escape_hidden(&start.location)));
    }
}

/// Approves what was shown, and nothing that was changed since.
fn build_approvals(shown: &[TaskRow], current: &[TaskListItem]) -> Result<Vec<TaskChange>, CommandError> {
    let approve = |row: &TaskRow| {
        let id = &row.task.id;
        match current.iter().any(|head| head.id == *id && head.updated_at == row.updated_at) {
            true => Ok(TaskChange::Approve { id: id.clone() }),
            false => Err(CommandError::preflight_error(format!("task {id} was changed meanwhile"))
                .with_hint("look at it again: nothing was approved")),
        }
    };
    shown.iter().map(approve).collect()
}
