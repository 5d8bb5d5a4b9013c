//! What can be said about a task, as flags.
use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::isolation::Isolation;
use ralph_core::task::{Knot, Status, Task, find_knot};

use super::role_args::RoleArgs;
use crate::error::Failure;
use ralph_app::task::{self, Form, Read, TaskError};
use ralph_store::TaskHead;
use ralph_util::sanitize::sanitize;
use ralph_util::suggest;

#[derive(Debug, Clone, Default, Args)]
pub struct FieldArgs {
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
    #[arg(long, value_name = "WHERE", help_heading = "Completion", value_parser = isolation)]
    isolation: Option<Isolation>,
    #[command(flatten)]
    roles: RoleArgs,
}

impl FieldArgs {
    /// Puts what the flags say over what is there.
    pub fn apply(&self, task: &mut Task) -> Result<(), Failure> {
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
        if !self.says_when_done() {
            return Ok(());
        }
        let spec = task.completion.get_or_insert_default();
        if let Some(outcome) = &self.outcome {
            spec.outcome.clone_from(outcome);
        }
        if !self.acceptance.is_empty() {
            spec.acceptance_criteria.clone_from(&self.acceptance);
        }
        listed(&self.guard, &mut spec.guard);
        listed(&self.allow_changes, &mut spec.allow_changes);
        spec.isolation = self.isolation.or(spec.isolation);
        self.roles.apply(spec)
    }

    /// Refuses dependencies that were given and cannot be.
    pub fn untangled(&self, task: &Task, there: &[TaskHead]) -> Result<(), Failure> {
        if self.depends.is_none() {
            return Ok(());
        }
        let others = there.iter().filter(|head| head.id != task.id);
        let others = others.map(|head| (head.id.as_str(), head.dependencies.as_slice()));
        match find_knot(others.chain([(task.id.as_str(), task.dependencies())])) {
            None => Ok(()),
            Some(knot @ Knot::Unknown { .. }) => {
                Err(Failure::usage(&knot).hint("`ralph task list` lists the tasks"))
            }
            Some(knot @ Knot::Cycle { .. }) => {
                Err(Failure::usage(&knot).hint("leave one of these dependencies out"))
            }
        }
    }

    /// Tells whether a flag says something about completion.
    pub fn says_when_done(&self) -> bool {
        let is_accepted = self.guard.is_some() || self.allow_changes.is_some() || self.isolation.is_some();
        self.outcome.is_some() || !self.acceptance.is_empty() || is_accepted || !self.roles.is_empty()
    }
}

/// Puts patterns in the place of others; an empty one takes them away.
fn listed(new: &Option<Vec<String>>, old: &mut Option<Vec<String>>) {
    if let Some(patterns) = new {
        let patterns: Vec<String> = patterns.iter().filter(|pattern| !pattern.is_empty()).cloned().collect();
        *old = (!patterns.is_empty()).then_some(patterns);
    }
}

fn isolation(text: &str) -> Result<Isolation, String> {
    Isolation::parse(text).ok_or_else(|| suggest::hint(text, &Isolation::ALL.map(Isolation::as_str)))
}

/// Reads the one task of a file.
pub fn from_file(path: &Path) -> Result<Read, Failure> {
    let (text, name) = text_of(path)?;
    Ok(task::one(&text, Form::of(path, &text), &name)?)
}

/// Reads a file of tasks; `-` is standard input.
pub fn text_of(path: &Path) -> Result<(String, String), TaskError> {
    if path.as_os_str() == "-" {
        let name = "standard input".to_owned();
        return Ok((task::bounded(std::io::stdin().lock(), &name)?, name));
    }
    let name = sanitize(&path.display().to_string());
    let file = File::open(path).map_err(|error| TaskError::unreadable(&name, &error))?;
    Ok((task::bounded(file, &name)?, name))
}

/// Where a whole task is read from.
#[derive(Debug, Clone, Default, Args)]
pub struct FileArgs {
    /// Takes what no flag says from a file with one task
    #[arg(long, value_name = "FILE")]
    pub from_file: Option<PathBuf>,
}

pub fn status(text: &str) -> Result<Status, String> {
    let names = Status::ALL.map(Status::as_str);
    Status::parse(text).ok_or_else(|| suggest::hint(text, &names))
}
