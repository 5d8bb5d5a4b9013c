//! The fields of a task, as flags.
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::task::TaskStatus;

use crate::commands::tasks::task::args::role_args::RoleArgs;
use crate::error::CommandError;
use ralph_app::task_files::{self, ParsedTask, TaskError, TaskFileFormat, TaskText};
use ralph_app::tasks::TaskFields;
use ralph_util::suggest;

#[derive(Debug, Clone, Default, Args)]
pub struct TaskFieldArgs {
    /// Full description of what to do
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Priority; 1 is the most urgent [built-in: 3]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<u32>,
    /// Task that must be done first; repeat for more
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    depends: Option<Vec<String>>,
    /// Assignee of the task
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
    /// Outcome: what is true when the task is done
    #[arg(long, value_name = "TEXT", help_heading = "Completion")]
    outcome: Option<String>,
    /// Acceptance criterion; repeat for more
    #[arg(long, value_name = "TEXT", help_heading = "Completion")]
    acceptance: Vec<String>,
    /// Files that must not change before a claim, as in a .gitignore; repeat for more
    #[arg(long, value_name = "GLOB", help_heading = "Completion")]
    guard: Option<Vec<String>>,
    /// Sealed files that the task may change, such as the check itself; repeat for more
    #[arg(long, value_name = "GLOB", help_heading = "Completion")]
    allow_changes: Option<Vec<String>>,
    /// Where claims are checked: workspace (the work tree) or clean (a fresh checkout of the commit)
    #[arg(long, value_name = "WHERE", help_heading = "Completion", value_parser = parse_isolation)]
    isolation: Option<CheckIsolation>,
    #[command(flatten)]
    roles: RoleArgs,
}

impl TaskFieldArgs {
    /// Returns the fields that are set by flags.
    pub fn to_fields(&self) -> Result<TaskFields, CommandError> {
        Ok(TaskFields {
            description: self.description.clone(),
            priority: self.priority,
            dependencies: self.depends.clone(),
            assignee: self.assignee.clone(),
            outcome: self.outcome.clone(),
            acceptance: self.acceptance.clone(),
            guard: self.guard.clone(),
            allow_changes: self.allow_changes.clone(),
            isolation: self.isolation,
            roles: self.roles.to_fields()?,
        })
    }
}

fn parse_isolation(text: &str) -> Result<CheckIsolation, String> {
    CheckIsolation::parse(text)
        .ok_or_else(|| suggest::suggestion_hint(text, &CheckIsolation::ALL.map(CheckIsolation::as_str)))
}

/// Reads a file that contains exactly one task.
pub fn read_task_file(path: &Path) -> Result<ParsedTask, CommandError> {
    let TaskText { text, name } = read_text(path)?;
    Ok(task_files::parse_single_task(&text, TaskFileFormat::detect(path, &text), &name)?)
}

/// Reads a file of tasks or a spec; `-` is standard input.
pub fn read_text(path: &Path) -> Result<TaskText, TaskError> {
    if path.as_os_str() == "-" {
        let name = "standard input".to_owned();
        return Ok(TaskText { text: task_files::read_bounded(std::io::stdin().lock(), &name)?, name });
    }
    task_files::read_task_text(path)
}

/// The file from which a task is read.
#[derive(Debug, Clone, Default, Args)]
pub struct TaskFileArgs {
    /// Reads the task from a file; flags override its fields
    #[arg(long, value_name = "FILE")]
    pub from_file: Option<PathBuf>,
}

pub fn parse_status(text: &str) -> Result<TaskStatus, String> {
    let names = TaskStatus::ALL.map(TaskStatus::as_str);
    TaskStatus::parse(text).ok_or_else(|| suggest::suggestion_hint(text, &names))
}
