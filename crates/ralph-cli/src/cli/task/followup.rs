//! `ralph task followup`.
use clap::Args;
use ralph_core::task::{Status, Task};
use serde_json::json;

use super::create::add;
use super::field_args::FieldArgs;
use super::held::{Written, held};
use super::{author, picked};
use crate::cli::{block_on, out};
use crate::error::Failure;
use ralph_app::task::{Origin, Read};
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};
use ralph_util::sanitize::sanitize;

/// Makes a task from one that was worked on; it inherits spec, priority and criteria
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task followup TASK-001 TASK-001b
  ralph task followup TASK-001 TASK-007 'Rate limits for the login' --acceptance '429 after 5 attempts'")]
pub struct FollowupArgs {
    /// The task that it follows
    id: String,
    /// The id of the new one
    new_id: String,
    /// What is to be done, in one line [usual: Follow-up: and the old title]
    title: Option<String>,
    #[command(flatten)]
    fields: FieldArgs,
}

pub fn run(args: &FollowupArgs) -> Result<u8, Failure> {
    block_on(async {
        let (store, parent) = picked(&args.id).await?;
        let was_begun = was_begun(&store, &parent).await;
        store.close().await;
        was_begun?;
        let read = args.task(&parent)?;
        let task = read.task.clone();
        add(vec![read], author(&Project::here()?), |there| args.fields.untangled(&task, there)).await?;
        out::line(&sanitize(&format!("task {} is made: {}", task.id, task.title)));
        Ok(0)
    })
}

/// What nobody has touched yet needs no follow-up.
async fn was_begun(store: &Store, parent: &TaskRow) -> Result<(), Failure> {
    let id = &parent.task.id;
    if parent.task.status != Status::Todo || !store.runs_of_task(id).await?.is_empty() {
        return Ok(());
    }
    Err(Failure::preflight(format!("task {id} is neither finished nor failed: nobody has worked on it yet"))
        .hint(format!("change it with `ralph task edit {id}`")))
}

impl FollowupArgs {
    fn task(&self, row: &TaskRow) -> Result<Read, Failure> {
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
        let origin = Origin::Command("ralph task followup");
        held(&task, &Written { task: parent, origin: &origin })?;
        Ok(Read {
            task,
            metadata: [("followup_of".to_owned(), json!(parent.id))].into_iter().collect(),
            // What nobody has approved there nobody has approved here.
            approval: row.approval,
            origin,
        })
    }
}
