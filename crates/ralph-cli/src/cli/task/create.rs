//! `ralph task create`.
use clap::Args;
use ralph_core::task::{Approval, Author, Problem, Status, Task};
use serde_json::Map;

use super::field_args::{FieldArgs, FileArgs, from_file};
use super::held::{Written, held};
use super::{author, made_store, moved_by};
use crate::cli::{block_on, out};
use crate::error::Failure;
use ralph_app::task::{self, Origin, Read};
use ralph_engine::engine::Clock;
use ralph_engine::project::Project;
use ralph_store::{TaskChange, TaskHead};
use ralph_util::sanitize::sanitize;

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
pub struct CreateArgs {
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
    file: FileArgs,
    /// Makes a task that does not say when it is done
    #[arg(long, help_heading = "Completion", conflicts_with_all = ["outcome", "acceptance"])]
    no_criteria: bool,
    #[command(flatten)]
    fields: FieldArgs,
}

pub fn run(args: &CreateArgs) -> Result<u8, Failure> {
    let new = args.task()?;
    let told = format!("task {} is made: {}", new.task.id, new.task.title);
    let task = new.task.clone();
    block_on(add(vec![new], author(&Project::here()?), |there| args.fields.untangled(&task, there)))?;
    out::line(&sanitize(&told));
    Ok(0)
}

/// Stores new tasks, all or nothing, unless `refuse` refuses them.
pub async fn add(
    new: Vec<Read>,
    author: Author,
    refuse: impl FnOnce(&[TaskHead]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let store = made_store().await?;
    let decide = |there: &[TaskHead]| {
        refuse(there)?;
        additions(new, there, author)
    };
    let added = store.change_tasks(Clock::wall(), decide).await;
    store.close().await;
    added
}

/// Says what becomes of new tasks, if they fit together and to those that are there.
pub fn additions(new: Vec<Read>, there: &[TaskHead], author: Author) -> Result<Vec<TaskChange>, Failure> {
    let there: Vec<_> = there.iter().map(|head| (head.id.clone(), head.dependencies.clone())).collect();
    task::join(&new, &there)?;
    new.iter().try_for_each(|read| moved_by(author, Status::Todo, &read.task))?;
    let add = |read: Read| TaskChange::Add {
        approval: Approval::after(read.approval, None, &read.task, author),
        task: read.task,
        metadata: serde_json::Value::Object(read.metadata).to_string(),
    };
    Ok(new.into_iter().map(add).collect())
}

impl CreateArgs {
    fn task(&self) -> Result<Read, Failure> {
        let nothing = || Read {
            task: Task::default(),
            metadata: Map::new(),
            approval: Approval::Given,
            origin: Origin::Command("ralph task create"),
        };
        let mut read = self.file.from_file.as_deref().map_or_else(|| Ok(nothing()), from_file)?;
        let before = read.task.clone();
        let written = Written { task: &before, origin: &read.origin };
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
            let problem = Problem::new("completion", "nobody says when this task is done", hint);
            return Err(written.refuse(&problem, task));
        }
        held(task, &written)?;
        Ok(read)
    }
}
