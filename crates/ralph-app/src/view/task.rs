//! A task, whole, with what became of every claim.
use std::fmt::Write;

use ralph_core::criterion::{Criterion, Method, SemanticCheck};
use ralph_core::isolation::Isolation;
use ralph_core::task::{Approval, CompletionSpec, Problem, Resolved, Role, Status};
use serde_json::{Map, Value, json};

use super::words::{one_or_many, short_id, when};
use super::{RunView, at_json};
use ralph_store::{StageRun, TaskHead, TaskRow};
use ralph_util::sanitize::sanitize;

/// One task, whole.
#[derive(Debug)]
pub struct TaskView {
    row: TaskRow,
    /// Oldest first.
    runs: Vec<RunView>,
    /// What it depends on, with the status of each.
    depends: Vec<(String, Option<Status>)>,
    newest: Option<StageRun>,
    roles: Vec<RoleHeld>,
}

/// A role, and what it is held to.
pub type RoleHeld = (Role, Result<Resolved, Problem>);

impl TaskView {
    #[must_use]
    pub fn new(row: TaskRow, roles: Vec<RoleHeld>, runs: Vec<RunView>, heads: &[TaskHead]) -> Self {
        let status_of = |id: &String| heads.iter().find(|head| head.id == *id).map(|head| head.status);
        let depends = row.task.dependencies().iter().map(|id| (id.clone(), status_of(id))).collect();
        let newest = heads.iter().find(|head| head.id == row.task.id).and_then(|head| head.run.clone());
        Self { row, runs, depends, newest, roles }
    }

    /// Returns the object of `task show --json`.
    #[must_use]
    pub fn json(&self) -> Value {
        let TaskRow { task, created_at, updated_at, .. } = &self.row;
        json!({
            "id": task.id,
            "status": task.status.as_str(),
            "spec_id": task.spec_id,
            "title": task.title,
            "description": task.description,
            "priority": task.priority(),
            "dependencies": task.dependencies(),
            "assignee": task.assignee,
            "approved": self.row.approval == Approval::Given,
            "iteration": self.newest.as_ref().map_or(0, |run| run.iterations),
            "created_at": at_json(*created_at),
            "updated_at": at_json(*updated_at),
            "metadata": self.metadata(),
            "completion": task.completion,
            "runs": self.runs.iter().map(RunView::json).collect::<Vec<_>>(),
        })
    }

    /// What was written, and under `ralph` how far the stage is that runs.
    fn metadata(&self) -> Map<String, Value> {
        let mut metadata: Map<String, Value> = serde_json::from_str(&self.row.metadata).unwrap_or_default();
        if let Some(run) = self.newest.as_ref().filter(|run| run.status == "running") {
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
        for run in &self.runs {
            let _ = write!(text, "\n{}", run.story());
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
        if self.row.approval == Approval::Awaited {
            let how = format!("ralph task approve {}", task.id);
            line("approval", &format!("awaited: an agent wrote its checks ({how})"));
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
        match &task.completion {
            None => text.push_str("\nnobody has said when it is done\n"),
            Some(spec) => {
                let _ = write!(text, "\noutcome   {}\n", spec.outcome.trim());
                for criterion in &spec.acceptance_criteria {
                    let _ = writeln!(text, "  - {}", criterion.trim());
                }
                for (word, what) in accepted(spec) {
                    let _ = writeln!(text, "{word:<8}  {what}");
                }
            }
        }
        text.push('\n');
        let acceptance = task.completion.as_ref().map_or(&[][..], |spec| &spec.acceptance_criteria);
        for (role, held) in &self.roles {
            let held = match held {
                Ok(resolved) => held_to(resolved, acceptance),
                Err(problem) => format!("{problem}\n{:<10}{}", "", problem.hint),
            };
            let _ = writeln!(text, "{:<8}  {held}", role.as_str());
        }
    }
}

/// Says how claims are accepted, where the task says so itself.
fn accepted(spec: &CompletionSpec) -> Vec<(&'static str, String)> {
    let guarded = spec.guard.as_ref().map(|patterns| ("guarded", patterns.join(", ")));
    let allowed = spec.allow_changes.as_ref().map(|patterns| ("allowed", patterns.join(", ")));
    let checked = spec.isolation.map(|isolation| {
        (
            "checked",
            match isolation {
                Isolation::Workspace => "in the work tree".to_owned(),
                Isolation::Clean => "in a fresh checkout of the commit".to_owned(),
            },
        )
    });
    [guarded, allowed, checked].into_iter().flatten().collect()
}

/// Says what a role is held to: its promise first, then each criterion in full, stages indented.
fn held_to(resolved: &Resolved, acceptance: &[String]) -> String {
    let most = one_or_many(i64::from(resolved.max_iterations), "iteration");
    let mut text = format!("{} · at most {most}", resolved.promise.as_str());
    let mut write = Criteria { text: &mut text, acceptance };
    resolved.criteria.iter().for_each(|criterion| write.one(criterion, 10));
    text
}

struct Criteria<'a> {
    text: &'a mut String,
    /// Stand above already.
    acceptance: &'a [String],
}

impl Criteria<'_> {
    fn one(&mut self, criterion: &Criterion, depth: usize) {
        let shown = criterion.shown();
        let mut lines = shown.trim_end().lines();
        let first = lines.next().unwrap_or_default();
        self.line(depth, &format!("{}: {first}", criterion.method.name()));
        lines.for_each(|line| self.line(depth + 2, line));
        match &criterion.method {
            Method::MultiStage(staged) => {
                staged.stages.iter().for_each(|stage| self.one(&stage.criterion, depth + 2));
            }
            Method::Semantic(check) => self.judged(check, depth + 2),
            Method::StringMatch | Method::External(_) | Method::Plugin(_) => {}
        }
    }

    fn judged(&mut self, check: &SemanticCheck, depth: usize) {
        let is_known = check.check_for == self.acceptance;
        let asked = check.check_for.iter().filter(|_| !is_known);
        asked.for_each(|criterion| self.line(depth, &format!("- {}", criterion.trim())));
        check.negative_patterns.iter().for_each(|words| self.line(depth, &format!("- never {words:?}")));
    }

    fn line(&mut self, depth: usize, words: &str) {
        let _ = write!(self.text, "\n{:<depth$}{words}", "");
    }
}
