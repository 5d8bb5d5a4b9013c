//! Checks of a task before it is stored, beside the rules of its fields: usable patterns and templates, and no secret.
use ralph_core::task::{Task, TaskProblem, validate_task};
use ralph_engine::project::Project;
use ralph_engine::verify::PathPatterns;
use ralph_util::redact;
use serde_json::Value;

use super::TaskAdvice;
use crate::config::TemplateLibrary;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::plan::{check_templates, project_templates};
use crate::task_files::TaskOrigin;

/// A task before a request changed its fields.
pub(super) struct OriginalTask<'a> {
    pub task: &'a Task,
    pub origin: &'a TaskOrigin,
}

impl OriginalTask<'_> {
    /// Refuses the changed task: at its place in the file if the request did not change the field, else as a wrong request.
    pub(super) fn rejection_error(&self, problem: &TaskProblem, changed: &Task) -> AppError {
        match self.origin {
            TaskOrigin::File { .. } if self.is_field_unchanged(&problem.field, changed) => {
                self.origin.locate_problem(problem).into()
            }
            TaskOrigin::File { .. } | TaskOrigin::Command(_) => AppError::invalid_request(problem)
                .with_advice(TaskAdvice::CorrectField { field: problem.field.clone(), hint: problem.hint.clone() }),
        }
    }

    /// Returns whether the request has changed neither a field of the task nor, below `completion`, a field of that.
    fn is_field_unchanged(&self, field: &str, changed: &Task) -> bool {
        let depth = if field.starts_with("completion.") { 2 } else { 1 };
        let pointer: String = field.split('.').take(depth).map(|step| format!("/{step}")).collect();
        let part = |task: &Task| serde_json::to_value(task).ok()?.pointer(&pointer).cloned();
        part(self.task) == part(changed)
    }
}

/// Checks a task that a request has changed.
pub(super) fn check_task(project: &Project, task: &Task, original: &OriginalTask<'_>) -> AppResult<()> {
    let templates = project_templates(project);
    let rules = validate_task(task).and_then(|()| check_patterns_and_templates(task, &templates));
    rules.map_err(|problem| original.rejection_error(&problem, task))?;
    refuse_secrets(task)
        .map_err(|problem| AppError { kind: ErrorKind::Preflight, ..original.rejection_error(&problem, task) })
}

/// Refuses patterns and templates that cannot be used.
pub(super) fn check_patterns_and_templates(task: &Task, templates: &TemplateLibrary) -> Result<(), TaskProblem> {
    check_patterns(task)?;
    check_templates(task, templates)
}

fn check_patterns(task: &Task) -> Result<(), TaskProblem> {
    let Some(spec) = &task.completion else { return Ok(()) };
    for (name, patterns) in [("guard", &spec.guard), ("allow_changes", &spec.allow_changes)] {
        for (place, pattern) in patterns.iter().flatten().enumerate() {
            PathPatterns::compile(std::slice::from_ref(pattern)).map_err(|error| {
                let hint = "patterns are written as in a .gitignore, such as tests/**";
                TaskProblem::new(format!("completion.{name}.{place}"), error.to_string(), hint)
            })?;
        }
    }
    Ok(())
}

/// Refuses a task with a secret: ralph would redact it in the store, and the command would then do something else.
pub(super) fn refuse_secrets(task: &Task) -> Result<(), TaskProblem> {
    let whole = serde_json::to_value(task).unwrap_or_default();
    let is_secret = |value: &Value| {
        let text = value.to_string();
        redact::redact_text(&text) != text.as_str()
    };
    if !is_secret(&whole) {
        return Ok(());
    }
    let field = find_deepest_path(&whole, &is_secret).join(".");
    let message = format!("there is a secret in task {}, and secrets are not stored", task.id);
    let hint = "put it into an environment variable, and let the command read that";
    Err(TaskProblem::new(if field.is_empty() { "task".to_owned() } else { field }, message, hint))
}

/// Returns the path to the smallest part of a value that the predicate accepts.
fn find_deepest_path(value: &Value, predicate: &dyn Fn(&Value) -> bool) -> Vec<String> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let found = parts.into_iter().find(|(_, part)| predicate(part));
    found.map_or_else(Vec::new, |(name, part)| [vec![name], find_deepest_path(part, predicate)].concat())
}
