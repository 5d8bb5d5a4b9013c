//! `ralph task followup`.
use clap::Args;
use ralph_app::tasks::{FollowupRequest, create_followup, detect_author};
use ralph_engine::project::Project;

use super::create::print_created_task;
use super::field_args::TaskFieldArgs;
use crate::commands::block_on;
use crate::error::CommandError;

/// Creates a task that follows another one; it inherits spec, priority and criteria
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
    let project = Project::find_here()?;
    let request = FollowupRequest {
        parent_id: args.id.clone(),
        id: args.new_id.clone(),
        title: args.title.clone(),
        fields: args.fields.to_fields()?,
        source: "ralph task followup",
    };
    let author = detect_author(&project);
    print_created_task(&block_on(async { Ok(create_followup(&project, request, author).await?) })?);
    Ok(0)
}
