//! What a task is held against before it is stored, beside the rules of its fields: patterns and templates that can be used,
//! and no secret.
use ralph_core::outcome::exit_code;
use ralph_core::task::{Problem, Task, validate};
use serde_json::Value;

use super::templates;
use crate::error::Failure;
use ralph_app::config::Templates;
use ralph_app::task::Origin;
use ralph_engine::project::Project;
use ralph_engine::verify::Patterns;
use ralph_util::redact;

/// A task as it was before flags were put over it.
pub struct Written<'a> {
    pub task: &'a Task,
    pub origin: &'a Origin,
}

impl Written<'_> {
    /// Refuses a task: with the place of what was there before, or else as a mistake on the command line.
    pub fn refuse(&self, problem: &Problem, task: &Task) -> Failure {
        match self.origin {
            Origin::File { .. } if self.has(&problem.field, task) => self.origin.refuse(problem).into(),
            Origin::File { .. } | Origin::Command(_) => {
                let flag = flag_of(&problem.field).map(|flag| format!("; its flag is {flag}"));
                Failure::usage(problem).hint(format!("{}{}", problem.hint, flag.unwrap_or_default()))
            }
        }
    }

    /// Tells whether no flag has changed what a field belongs to: a field of the task, or one of its completion.
    fn has(&self, field: &str, task: &Task) -> bool {
        let depth = if field.starts_with("completion.") { 2 } else { 1 };
        let pointer: String = field.split('.').take(depth).map(|step| format!("/{step}")).collect();
        let part = |task: &Task| serde_json::to_value(task).ok()?.pointer(&pointer).cloned();
        part(self.task) == part(task)
    }
}

/// Returns the flag that gives a field.
fn flag_of(field: &str) -> Option<String> {
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
pub fn held(task: &Task, written: &Written<'_>) -> Result<(), Failure> {
    let templates = templates::of(&Project::here()?);
    let rules = validate(task).and_then(|()| usable(task, &templates));
    rules.map_err(|problem| written.refuse(&problem, task))?;
    without_secrets(task)
        .map_err(|problem| Failure { exit_code: exit_code::PREFLIGHT, ..written.refuse(&problem, task) })
}

/// Refuses patterns and templates that cannot be used so.
pub fn usable(task: &Task, templates: &Templates) -> Result<(), Problem> {
    patterns(task)?;
    templates::held(task, templates)
}

fn patterns(task: &Task) -> Result<(), Problem> {
    let Some(spec) = &task.completion else { return Ok(()) };
    for (name, patterns) in [("guard", &spec.guard), ("allow_changes", &spec.allow_changes)] {
        for (place, pattern) in patterns.iter().flatten().enumerate() {
            Patterns::compile(std::slice::from_ref(pattern)).map_err(|error| {
                let hint = "patterns are written as in a .gitignore, such as tests/**";
                Problem::new(format!("completion.{name}.{place}"), error.to_string(), hint)
            })?;
        }
    }
    Ok(())
}

/// A secret would be hidden when the task is stored, and a command without it does something else.
pub fn without_secrets(task: &Task) -> Result<(), Problem> {
    let whole = serde_json::to_value(task).unwrap_or_default();
    let is_secret = |value: &Value| {
        let text = value.to_string();
        redact::text(&text) != text.as_str()
    };
    if !is_secret(&whole) {
        return Ok(());
    }
    let field = deepest(&whole, &is_secret).join(".");
    let what = format!("there is a secret in task {}, and secrets are not stored", task.id);
    let hint = "put it into a variable of the environment, and let the command read that";
    Err(Problem::new(if field.is_empty() { "task".to_owned() } else { field }, what, hint))
}

/// Returns the way to the smallest part of a value of which something is true.
fn deepest(value: &Value, is_so: &dyn Fn(&Value) -> bool) -> Vec<String> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let found = parts.into_iter().find(|(_, part)| is_so(part));
    found.map_or_else(Vec::new, |(name, part)| [vec![name], deepest(part, is_so)].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: T3
    fn a_field_is_given_by_its_flag() {
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
            assert_eq!(flag_of(field).as_deref(), flag, "{field}");
        }
    }
}
