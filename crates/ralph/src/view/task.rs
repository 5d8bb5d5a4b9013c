//! Tasks: a line of a list, and one whole with what became of every claim.
use std::fmt::Write;

use ralph_core::criterion::Method;
use ralph_core::task::{MethodName, NoCriteria, Role, RoleRules, Status, Task, resolve};
use serde_json::{Map, Value, json};

use super::words::{one_or_many, short_id, when};
use super::{RunView, at_json};
use crate::sanitize::sanitize;
use crate::store::{StageRun, TaskHead, TaskRow};

/// Returns a task as an object of `task list --json`.
#[must_use]
pub fn task_head_json(task: &TaskHead, waits: &[String]) -> Value {
    json!({
        "id": task.id,
        "status": task.status.as_str(),
        "title": task.title,
        "spec_id": task.spec,
        "priority": task.priority,
        "dependencies": task.dependencies,
        "ready": task.status == Status::Todo && waits.is_empty(),
        "assignee": task.assignee,
        "iteration": task.run.as_ref().map_or(0, |run| run.iterations),
        "created_at": at_json(task.created_at),
        "updated_at": at_json(task.updated_at),
        "run": task.run.as_ref().map(stage_json),
    })
}

fn stage_json(run: &StageRun) -> Value {
    json!({
        "id": run.id,
        "role": run.role,
        "status": run.status,
        "iterations": run.iterations,
        "max_iterations": run.max_iterations,
    })
}

/// Returns a task as a line for people.
#[must_use]
pub fn task_line(task: &TaskHead, waits: &[String]) -> String {
    let waits = if waits.is_empty() { String::new() } else { format!("  (waits for {})", waits.join(", ")) };
    let spec = task.spec.as_deref().unwrap_or("-");
    let line = format!(
        "{:<12}  {:<9}  {:>2}  {:<12}  {}{waits}",
        task.id,
        task.status.as_str(),
        task.priority,
        spec,
        task.title.lines().next().unwrap_or_default()
    );
    sanitize(&line)
}

/// One task, whole.
#[derive(Debug)]
pub struct TaskView {
    row: TaskRow,
    /// Oldest first, each with its role.
    runs: Vec<(String, RunView)>,
    /// What it depends on, with the status of each.
    depends: Vec<(String, Option<Status>)>,
    newest: Option<StageRun>,
}

impl TaskView {
    #[must_use]
    pub fn new(row: TaskRow, runs: Vec<(String, RunView)>, heads: &[TaskHead]) -> Self {
        let status_of = |id: &String| heads.iter().find(|head| head.id == *id).map(|head| head.status);
        let depends = row.task.dependencies().iter().map(|id| (id.clone(), status_of(id))).collect();
        let newest = heads.iter().find(|head| head.id == row.task.id).and_then(|head| head.run.clone());
        Self { row, runs, depends, newest }
    }

    /// Returns the object of `task show --json`.
    #[must_use]
    pub fn json(&self) -> Value {
        let TaskRow { task, created_at, updated_at, .. } = &self.row;
        let runs = self.runs.iter().map(|(role, run)| {
            let mut run = run.json();
            run["role"] = json!(role);
            run
        });
        json!({
            "id": task.id,
            "status": task.status.as_str(),
            "spec_id": task.spec_id,
            "title": task.title,
            "description": task.description,
            "priority": task.priority(),
            "dependencies": task.dependencies(),
            "assignee": task.assignee,
            "iteration": self.newest.as_ref().map_or(0, |run| run.iterations),
            "created_at": at_json(*created_at),
            "updated_at": at_json(*updated_at),
            "metadata": self.metadata(),
            "completion": task.completion,
            "runs": runs.collect::<Vec<_>>(),
        })
    }

    /// What was written, and under `ralph` how far the newest stage is.
    fn metadata(&self) -> Map<String, Value> {
        let mut metadata: Map<String, Value> = serde_json::from_str(&self.row.metadata).unwrap_or_default();
        if let Some(run) = &self.newest {
            let state = json!({
                "run": run.id,
                "stage": run.role,
                "iteration": run.iterations,
                "max_iterations": run.max_iterations,
                "started_at": at_json(run.started_at),
                "completion_promise": run.promise,
            });
            metadata.insert("ralph".to_owned(), state);
        }
        metadata
    }

    /// Returns the task for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.heading();
        self.completion(&mut text);
        for (role, run) in &self.runs {
            let _ = write!(text, "\n{role}  {}", run.story());
        }
        // What was written may come from an agent, or from a file of somebody else.
        sanitize(&text)
    }

    fn heading(&self) -> String {
        let TaskRow { task, created_at, updated_at, .. } = &self.row;
        let mut text = format!("task      {}  {}\n", task.id, task.title);
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<8}  {value}");
        };
        line("status", &self.status());
        line("spec", task.spec_id.as_deref().unwrap_or("none"));
        line("priority", &task.priority().to_string());
        for (id, status) in &self.depends {
            line("depends", &format!("on {id} ({})", status.map_or("gone", Status::as_str)));
        }
        if let Some(assignee) = &task.assignee {
            line("assignee", assignee);
        }
        line("created", &when(*created_at));
        line("changed", &when(*updated_at));
        if let Some(description) = &task.description {
            let _ = write!(text, "\n{}\n", description.trim_end());
        }
        text
    }

    fn status(&self) -> String {
        let status = self.row.task.status.as_str();
        match &self.newest {
            Some(run) => format!(
                "{status} ({} {}: {}, iteration {}/{})",
                run.role,
                short_id(&run.id),
                run.status,
                run.iterations,
                run.max_iterations
            ),
            None => status.to_owned(),
        }
    }

    fn completion(&self, text: &mut String) {
        let task = &self.row.task;
        let Some(spec) = &task.completion else {
            text.push_str("\nnobody has said when it is done: the agent's promise alone decides\n");
            return;
        };
        let _ = write!(text, "\noutcome   {}\n", spec.outcome.trim());
        for criterion in &spec.acceptance_criteria {
            let _ = writeln!(text, "  - {}", criterion.trim());
        }
        text.push('\n');
        for role in Role::KNOWN {
            let _ = writeln!(text, "{:<8}  {}", role.as_str(), self::role(task, &role));
        }
    }
}

/// Says what a role is held to where the configuration says nothing else.
fn role(task: &Task, role: &Role) -> String {
    let rules = RoleRules {
        is_loop: true,
        max_iterations: None,
        default_max_iterations: 10,
        promise: None,
        default_verification: MethodName::StringMatch,
        verify_promises: true,
    };
    let resolved = match resolve(task, role, &rules, NoCriteria::Warn) {
        Ok(resolved) => resolved,
        Err(problem) => return problem.to_string(),
    };
    let criteria: Vec<String> = resolved.criteria.iter().map(|one| shown(&one.method)).collect();
    format!(
        "{} · at most {} · {}",
        resolved.promise.as_str(),
        one_or_many(i64::from(resolved.max_iterations), "iteration"),
        criteria.join(", ")
    )
}

fn shown(method: &Method) -> String {
    let what = method.shown();
    let line = what.lines().next().unwrap_or_default();
    let cut = if what.lines().count() > 1 { " …" } else { "" };
    format!("{}: {line}{cut}", method.name())
}
