//! What a task is held against before it is stored, beside the rules of its fields: patterns and templates that can be used,
//! and no secret.
use ralph_core::outcome::exit_code;
use ralph_core::task::{Task, TaskProblem, validate_task};
use serde_json::Value;

use crate::error::CommandError;
use ralph_app::config::TemplateLibrary;
use ralph_app::task::TaskOrigin;
use ralph_engine::project::Project;
use ralph_engine::verify::PathPatterns;
use ralph_util::redact;

/// A task as it was before flags were put over it.
pub struct OriginalTask<'a> {
    pub task: &'a Task,
    pub origin: &'a TaskOrigin,
}

impl OriginalTask<'_> {
    /// Refuses a task: with the place of what was there before, or else as a mistake on the command line.
    pub fn rejection_error(&self, problem: &TaskProblem, task: &Task) -> CommandError {
        match self.origin {
            TaskOrigin::File { .. } if self.is_field_unchanged(&problem.field, task) => {
                self.origin.locate_problem(problem).into()
            }
            TaskOrigin::File { .. } | TaskOrigin::Command(_) => {
                let flag = flag_for_field(&problem.field).map(|flag| format!("; its flag is {flag}"));
                CommandError::usage_error(problem).with_hint(format!("{}{}", problem.hint, flag.unwrap_or_default()))
            }
        }
    }

    /// Tells whether no flag has changed what a field belongs to: a field of the task, or one of its completion.
    fn is_field_unchanged(&self, field: &str, task: &Task) -> bool {
        let depth = if field.starts_with("completion.") { 2 } else { 1 };
        let pointer: String = field.split('.').take(depth).map(|step| format!("/{step}")).collect();
        let part = |task: &Task| serde_json::to_value(task).ok()?.pointer(&pointer).cloned();
        part(self.task) == part(task)
    }
}

/// Returns the flag that gives a field.
fn flag_for_field(field: &str) -> Option<String> {
    let mut steps = field.split('.');
    match (steps.next()?, steps.next(), steps.next(), steps.next()) {
        ("dependencies", ..) => Some("--depends".to_owned()),
        (name @ ("priority" | "assignee" | "description"), ..) => Some(format!("--{name}")),
        ("completion", Some("acceptance_criteria"), ..) => Some("--acceptance".to_owned()),
        ("completion", Some(name @ ("outcome" | "guard" | "allow_changes" | "isolation")), ..) => {
            Some(format!("--{}", name.replace('_', "-")))
        }
        ("completion", Some(role), Some(name), below) => {
            let name = match (name, below) {
                ("verification_method", _) => "verify",
                ("verification_config", Some("command")) => "verify-cmd",
                ("verification_config", _) => "verify-config",
                ("max_iterations", _) => "max-iterations",
                (name, _) => name,
            };
            Some(format!("--{role}-{name}"))
        }
        _ => None,
    }
}

/// Holds what flags made of a task against the rules.
pub fn check_task(task: &Task, original: &OriginalTask<'_>) -> Result<(), CommandError> {
    let templates = ralph_app::plan::project_templates(&Project::find_here()?);
    let rules = validate_task(task).and_then(|()| check_patterns_and_templates(task, &templates));
    rules.map_err(|problem| original.rejection_error(&problem, task))?;
    refuse_secrets(task).map_err(|problem| CommandError {
        exit_code: exit_code::PREFLIGHT_FAILED,
        ..original.rejection_error(&problem, task)
    })
}

/// Refuses patterns and templates that cannot be used so.
pub fn check_patterns_and_templates(task: &Task, templates: &TemplateLibrary) -> Result<(), TaskProblem> {
    check_patterns(task)?;
    ralph_app::plan::check_templates(task, templates)
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

/// A secret would be hidden when the task is stored, and a command without it does something else.
pub fn refuse_secrets(task: &Task) -> Result<(), TaskProblem> {
    let whole = serde_json::to_value(task).unwrap_or_default();
    let is_secret = |value: &Value| {
        let text = value.to_string();
        redact::redact_text(&text) != text.as_str()
    };
    if !is_secret(&whole) {
        return Ok(());
    }
    let field = find_deepest_path(&whole, &is_secret).join(".");
    let what = format!("there is a secret in task {}, and secrets are not stored", task.id);
    let hint = "put it into a variable of the environment, and let the command read that";
    Err(TaskProblem::new(if field.is_empty() { "task".to_owned() } else { field }, what, hint))
}

/// Returns the way to the smallest part of a value of which something is true.
fn find_deepest_path(value: &Value, predicate: &dyn Fn(&Value) -> bool) -> Vec<String> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let found = parts.into_iter().find(|(_, part)| predicate(part));
    found.map_or_else(Vec::new, |(name, part)| [vec![name], find_deepest_path(part, predicate)].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: T3
    fn each_field_names_its_flag() {
        let table = [
            ("dependencies.1", Some("--depends")),
            ("priority", Some("--priority")),
            ("completion.acceptance_criteria.0", Some("--acceptance")),
            ("completion.allow_changes.2", Some("--allow-changes")),
            ("completion.coder.promise", Some("--coder-promise")),
            ("completion.qa.verification_method", Some("--qa-verify")),
            ("completion.coder.verification_config.command", Some("--coder-verify-cmd")),
            ("completion.tester.verification_config.with.min", Some("--tester-verify-config")),
            ("completion.reviewer.max_iterations", Some("--reviewer-max-iterations")),
            ("completion", None),
            ("id", None),
        ];
        for (field, flag) in table {
            assert_eq!(flag_for_field(field).as_deref(), flag, "{field}");
        }
    }
}
