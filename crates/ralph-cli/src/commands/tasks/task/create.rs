//! `ralph task create`.
use clap::Args;
use ralph_app::tasks::{self, CreatedTask, CriteriaRule, NewTaskRequest, detect_author};
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;

use super::args::field_args::{TaskFieldArgs, TaskFileArgs, read_task_file};
use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Creates a task
///
/// The outcome and the acceptance criteria define when the task is done; without them (--no-criteria) ralph relies on the
/// agent's claim. Each role has defaults for flags that you omit: see `ralph help tasks`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task create TASK-001 auth 'Add a login' --outcome 'People can log in' \\
      --acceptance 'a bad password gives 401' --acceptance 'a good one gives a token' \\
      --coder-promise AUTH_DONE --coder-verify external --coder-verify-cmd 'make test' \\
      --reviewer-verify semantic --depends TASK-000 --priority 1
  ralph task create --from-file task.yaml")]
pub struct TaskCreateArgs {
    /// The task id, such as TASK-001
    #[arg(required_unless_present = "from_file")]
    id: Option<String>,
    /// The spec that the task belongs to
    #[arg(required_unless_present = "from_file")]
    spec: Option<String>,
    /// The title: what to do, in one line
    #[arg(required_unless_present = "from_file")]
    title: Option<String>,
    #[command(flatten)]
    file: TaskFileArgs,
    /// Creates a task without outcome and acceptance criteria
    #[arg(long, help_heading = "Completion", conflicts_with_all = ["outcome", "acceptance"])]
    no_criteria: bool,
    #[command(flatten)]
    fields: TaskFieldArgs,
}

pub fn run(args: &TaskCreateArgs) -> Result<u8, CommandError> {
    let request = args.to_request()?;
    let project = Project::find_here()?;
    let author = detect_author(&project);
    let created = block_on(async { Ok(tasks::create_task(&project, request, author).await?) })?;
    print_created_task(&created);
    Ok(0)
}

/// Prints that a task was created.
pub fn print_created_task(task: &CreatedTask) {
    out::print_line(&sanitize_text(&format!("created task {}: {}", task.id, task.title)));
}

impl TaskCreateArgs {
    fn to_request(&self) -> Result<NewTaskRequest, CommandError> {
        Ok(NewTaskRequest {
            base: self.file.from_file.as_deref().map(read_task_file).transpose()?,
            id: self.id.clone(),
            spec: self.spec.clone(),
            title: self.title.clone(),
            fields: self.fields.to_fields()?,
            criteria: if self.no_criteria { CriteriaRule::Optional } else { CriteriaRule::Required },
            source: "ralph task create",
        })
    }
}
