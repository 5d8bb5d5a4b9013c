//! What can be said about a task, as flags.
use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::task::{DependencyError, Task, TaskStatus, find_dependency_error};

use super::role_args::RoleArgs;
use crate::error::CommandError;
use ralph_app::task::{self, ParsedTask, TaskError, TaskFileFormat};
use ralph_store::TaskListItem;
use ralph_util::sanitize::sanitize_text;
use ralph_util::suggest;

#[derive(Debug, Clone, Default, Args)]
pub struct TaskFieldArgs {
    /// What is to be done, at length
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// 1 comes first [built-in: 3]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<u32>,
    /// A task that must be done before; repeat for more
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    depends: Option<Vec<String>>,
    /// Who is to do it
    #[arg(long, value_name = "WHO")]
    assignee: Option<String>,
    /// What is true when the task is done
    #[arg(long, value_name = "TEXT", help_heading = "Completion")]
    outcome: Option<String>,
    /// Something that must hold; repeat for more
    #[arg(long, value_name = "TEXT", help_heading = "Completion")]
    acceptance: Vec<String>,
    /// Files that must not change before a claim, as in a .gitignore; repeat for more
    #[arg(long, value_name = "GLOB", help_heading = "Completion")]
    guard: Option<Vec<String>>,
    /// Files that its work may change although they are sealed, such as the check itself; repeat for more
    #[arg(long, value_name = "GLOB", help_heading = "Completion")]
    allow_changes: Option<Vec<String>>,
    /// workspace: claims are checked in the work tree; clean: in a fresh checkout of the commit
    #[arg(long, value_name = "WHERE", help_heading = "Completion", value_parser = parse_isolation)]
    isolation: Option<CheckIsolation>,
    #[command(flatten)]
    roles: RoleArgs,
}

impl TaskFieldArgs {
    /// Puts what the flags say over what is there.
    pub fn apply(&self, task: &mut Task) -> Result<(), CommandError> {
        let said = |new: &Option<String>, old: &mut Option<String>| {
            if let Some(new) = new {
                *old = Some(new.clone());
            }
        };
        said(&self.description, &mut task.description);
        said(&self.assignee, &mut task.assignee);
        task.priority = self.priority.or(task.priority);
        if let Some(depends) = &self.depends {
            task.dependencies = Some(depends.iter().filter(|id| !id.is_empty()).cloned().collect());
        }
        if !self.has_completion_flags() {
            return Ok(());
        }
        let spec = task.completion.get_or_insert_default();
        if let Some(outcome) = &self.outcome {
            spec.outcome.clone_from(outcome);
        }
        if !self.acceptance.is_empty() {
            spec.acceptance_criteria.clone_from(&self.acceptance);
        }
        replace_patterns(&self.guard, &mut spec.guard);
        replace_patterns(&self.allow_changes, &mut spec.allow_changes);
        spec.isolation = self.isolation.or(spec.isolation);
        self.roles.apply(spec)
    }

    /// Refuses dependencies that were given and cannot be.
    pub fn ensure_valid_dependencies(&self, task: &Task, there: &[TaskListItem]) -> Result<(), CommandError> {
        if self.depends.is_none() {
            return Ok(());
        }
        let others = there.iter().filter(|head| head.id != task.id);
        let others = others.map(|head| (head.id.as_str(), head.dependencies.as_slice()));
        match find_dependency_error(others.chain([(task.id.as_str(), task.dependencies())])) {
            None => Ok(()),
            Some(knot @ DependencyError::UnknownTask { .. }) => {
                Err(CommandError::usage_error(&knot).with_hint("`ralph task list` lists the tasks"))
            }
            Some(knot @ DependencyError::Cycle { .. }) => {
                Err(CommandError::usage_error(&knot).with_hint("leave one of these dependencies out"))
            }
        }
    }

    /// Tells whether a flag says something about completion.
    pub fn has_completion_flags(&self) -> bool {
        let is_accepted = self.guard.is_some() || self.allow_changes.is_some() || self.isolation.is_some();
        self.outcome.is_some() || !self.acceptance.is_empty() || is_accepted || !self.roles.is_empty()
    }
}

/// Puts patterns in the place of others; an empty one takes them away.
fn replace_patterns(new: &Option<Vec<String>>, old: &mut Option<Vec<String>>) {
    if let Some(patterns) = new {
        let patterns: Vec<String> = patterns.iter().filter(|pattern| !pattern.is_empty()).cloned().collect();
        *old = (!patterns.is_empty()).then_some(patterns);
    }
}

fn parse_isolation(text: &str) -> Result<CheckIsolation, String> {
    CheckIsolation::parse(text)
        .ok_or_else(|| suggest::suggestion_hint(text, &CheckIsolation::ALL.map(CheckIsolation::as_str)))
}

/// Reads the one task of a file.
pub fn read_task_file(path: &Path) -> Result<ParsedTask, CommandError> {
    let (text, name) = read_task_text(path)?;
    Ok(task::parse_single_task(&text, TaskFileFormat::detect(path, &text), &name)?)
}

/// Reads a file of tasks; `-` is standard input.
pub fn read_task_text(path: &Path) -> Result<(String, String), TaskError> {
    if path.as_os_str() == "-" {
        let name = "standard input".to_owned();
        return Ok((task::read_bounded(std::io::stdin().lock(), &name)?, name));
    }
    let name = sanitize_text(&path.display().to_string());
    let file = File::open(path).map_err(|error| TaskError::unreadable_file(&name, &error))?;
    Ok((task::read_bounded(file, &name)?, name))
}

/// Where a whole task is read from.
#[derive(Debug, Clone, Default, Args)]
pub struct TaskFileArgs {
    /// Takes what no flag says from a file with one task
    #[arg(long, value_name = "FILE")]
    pub from_file: Option<PathBuf>,
}

pub fn parse_status(text: &str) -> Result<TaskStatus, String> {
    let names = TaskStatus::ALL.map(TaskStatus::as_str);
    TaskStatus::parse(text).ok_or_else(|| suggest::suggestion_hint(text, &names))
}
