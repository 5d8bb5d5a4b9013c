//! `ralph task followup`.
use clap::Args;
use ralph_app::tasks::{FollowupRequest, create_followup, detect_author};
use ralph_engine::project::Project;

use super::args::field_args::TaskFieldArgs;
use super::create::print_created_task;
use crate::commands::block_on;
use crate::error::CommandError;

/// Creates a follow-up of a task, which inherits its spec, priority and criteria
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task followup TASK-001 TASK-001b
  ralph task followup TASK-001 TASK-007 'Rate limits for the login' --acceptance '429 after 5 attempts'")]
pub struct TaskFollowupArgs {
    /// The id of the task to follow up
    id: String,
    /// The id of the new task
    new_id: String,
    /// The title of the new task [default: `Follow-up: ` and the old title]
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
