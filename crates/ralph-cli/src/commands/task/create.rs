//! `ralph task create`.
use clap::Args;
use ralph_core::task::{Approval, Task, TaskAuthor, TaskProblem, TaskStatus};
use serde_json::Map;

use super::field_args::{TaskFieldArgs, TaskFileArgs, read_task_file};
use super::task_checks::{OriginalTask, check_task};
use super::{current_author, ensure_may_set_status, open_or_create_store};
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::task::{self, ParsedTask, TaskOrigin};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{TaskChange, TaskListItem};
use ralph_util::sanitize::sanitize_text;

/// Makes a task
///
/// Outcome and acceptance say when it is done; without them (--no-criteria) the agent's word is all there is. What no flag
/// says for a role is usual for it: see `docs/guide/tasks.md`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task create TASK-001 auth 'Add a login' --outcome 'People can log in' \\
      --acceptance 'a bad password gives 401' --acceptance 'a good one gives a token' \\
      --coder-promise AUTH_DONE --coder-verify external --coder-verify-cmd 'make test' \\
      --reviewer-verify semantic --depends TASK-000 --priority 1
  ralph task create --from-file task.yaml")]
pub struct TaskCreateArgs {
    /// Its id, such as TASK-001
    #[arg(required_unless_present = "from_file")]
    id: Option<String>,
    /// The spec that it belongs to
    #[arg(required_unless_present = "from_file")]
    spec: Option<String>,
    /// What is to be done, in one line
    #[arg(required_unless_present = "from_file")]
    title: Option<String>,
    #[command(flatten)]
    file: TaskFileArgs,
    /// Makes a task that does not say when it is done
    #[arg(long, help_heading = "Completion", conflicts_with_all = ["outcome", "acceptance"])]
    no_criteria: bool,
    #[command(flatten)]
    fields: TaskFieldArgs,
}

pub fn run(args: &TaskCreateArgs) -> Result<u8, CommandError> {
    let new = args.build_task()?;
    let told = format!("task {} is made: {}", new.task.id, new.task.title);
    let task = new.task.clone();
    block_on(add_tasks(vec![new], current_author(&Project::find_here()?), |there| {
        args.fields.ensure_valid_dependencies(&task, there)
    }))?;
    out::print_line(&sanitize_text(&told));
    Ok(0)
}

/// Stores new tasks, all or nothing, unless `refuse` refuses them.
pub async fn add_tasks(
    new: Vec<ParsedTask>,
    author: TaskAuthor,
    refuse: impl FnOnce(&[TaskListItem]) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let store = open_or_create_store().await?;
    let decide = |there: &[TaskListItem]| {
        refuse(there)?;
        plan_additions(new, there, author)
    };
    let added = store.change_tasks(Clock::wall_now(), decide).await;
    store.close().await;
    added
}

/// Says what becomes of new tasks, if they fit together and to those that are there.
pub fn plan_additions(
    new: Vec<ParsedTask>,
    there: &[TaskListItem],
    author: TaskAuthor,
) -> Result<Vec<TaskChange>, CommandError> {
    let there: Vec<_> = there.iter().map(|head| (head.id.clone(), head.dependencies.clone())).collect();
    task::check_consistency(&new, &there)?;
    new.iter().try_for_each(|read| ensure_may_set_status(author, TaskStatus::Todo, &read.task))?;
    let add = |read: ParsedTask| TaskChange::Add {
        approval: Approval::after_change(read.approval, None, &read.task, author),
        task: read.task,
        metadata: serde_json::Value::Object(read.metadata).to_string(),
    };
    Ok(new.into_iter().map(add).collect())
}

impl TaskCreateArgs {
    fn build_task(&self) -> Result<ParsedTask, CommandError> {
        let nothing = || ParsedTask {
            task: Task::default(),
            metadata: Map::new(),
            approval: Approval::Granted,
            origin: TaskOrigin::Command("ralph task create"),
        };
        let mut read = self.file.from_file.as_deref().map_or_else(|| Ok(nothing()), read_task_file)?;
        let before = read.task.clone();
        let written = OriginalTask { task: &before, origin: &read.origin };
        let task = &mut read.task;
        if let Some(id) = &self.id {
            task.id.clone_from(id);
        }
        if let Some(title) = &self.title {
            task.title.clone_from(title);
        }
        task.spec_id = self.spec.clone().or(task.spec_id.take());
        self.fields.apply(task)?;
        if task.completion.is_none() && !self.no_criteria {
            let hint = "give --outcome and --acceptance, or --no-criteria to go by the agent's word";
            let problem = TaskProblem::new("completion", "nobody says when this task is done", hint);
            return Err(written.rejection_error(&problem, task));
        }
        check_task(task, &written)?;
        Ok(read)
    }
}
