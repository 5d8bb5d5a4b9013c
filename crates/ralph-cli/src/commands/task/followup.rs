//! `ralph task followup`.
use clap::Args;
use ralph_core::task::{Task, TaskStatus};
use serde_json::json;

use super::create::add_tasks;
use super::field_args::TaskFieldArgs;
use super::task_checks::{OriginalTask, check_task};
use super::{current_author, find_task};
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::task::{ParsedTask, TaskOrigin};
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};
use ralph_util::sanitize::sanitize_text;

/// Makes a task from one that was worked on; it inherits spec, priority and criteria
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task followup TASK-001 TASK-001b
  ralph task followup TASK-001 TASK-007 'Rate limits for the login' --acceptance '429 after 5 attempts'")]
pub struct TaskFollowupArgs {
    /// The task that it follows
    id: String,
    /// The id of the new one
    new_id: String,
    /// What is to be done, in one line [usual: Follow-up: and the old title]
    title: Option<String>,
    #[command(flatten)]
    fields: TaskFieldArgs,
}

pub fn run(args: &TaskFollowupArgs) -> Result<u8, CommandError> {
    block_on(async {
        let (store, parent) = find_task(&args.id).await?;
        let was_begun = ensure_started(&store, &parent).await;
        store.close().await;
        was_begun?;
        let read = args.build_followup(&parent)?;
        let task = read.task.clone();
        add_tasks(vec![read], current_author(&Project::find_here()?), |there| {
            args.fields.ensure_valid_dependencies(&task, there)
        })
        .await?;
        out::print_line(&sanitize_text(&format!("task {} is made: {}", task.id, task.title)));
        Ok(0)
    })
}

/// What nobody has touched yet needs no follow-up.
async fn ensure_started(store: &Store, parent: &TaskRow) -> Result<(), CommandError> {
    let id = &parent.task.id;
    if parent.task.status != TaskStatus::Todo || !store.runs_of_task(id).await?.is_empty() {
        return Ok(());
    }
    Err(CommandError::preflight_error(format!("task {id} is neither finished nor failed: nobody has worked on it yet"))
        .with_hint(format!("change it with `ralph task edit {id}`")))
}

impl TaskFollowupArgs {
    fn build_followup(&self, row: &TaskRow) -> Result<ParsedTask, CommandError> {
        let parent = &row.task;
        let usual = || format!("Follow-up: {}", parent.title);
        let mut task = Task {
            id: self.new_id.clone(),
            title: self.title.clone().unwrap_or_else(usual),
            spec_id: parent.spec_id.clone(),
            priority: parent.priority,
            completion: parent.completion.clone(),
            ..Task::default()
        };
        self.fields.apply(&mut task)?;
        let origin = TaskOrigin::Command("ralph task followup");
        check_task(&task, &OriginalTask { task: parent, origin: &origin })?;
        Ok(ParsedTask {
            task,
            metadata: [("followup_of".to_owned(), json!(parent.id))].into_iter().collect(),
            // What nobody has approved there nobody has approved here.
            approval: row.approval,
            origin,
        })
    }
}
