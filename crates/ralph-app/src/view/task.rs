//! Renders a whole task with its runs and claims.
use std::fmt::Write;

use ralph_core::check_isolation::CheckIsolation;
use ralph_core::criterion::{Criterion, SemanticCheck, VerificationMethod};
use ralph_core::task::{Approval, CompletionSpec, ResolvedStage, Role, TaskProblem, TaskStatus};
use serde_json::{Map, Value, json};

use super::run_list::proof_level_json;
use super::text_format::{format_timestamp, pluralize, short_id};
use super::{RunView, timestamp_json};
use ralph_store::{StageRun, TaskListItem, TaskRow};
use ralph_util::sanitize::sanitize_text;

#[derive(Debug)]
pub struct TaskView {
    row: TaskRow,
    /// Oldest first.
    runs: Vec<RunView>,
    /// The dependencies and their status; `None` if the task was deleted.
    dependencies: Vec<(String, Option<TaskStatus>)>,
    newest_run: Option<StageRun>,
    roles: Vec<RoleCriteria>,
}

/// A role with its resolved criteria.
pub type RoleCriteria = (Role, Result<ResolvedStage, TaskProblem>);

impl TaskView {
    #[must_use]
    pub fn new(row: TaskRow, roles: Vec<RoleCriteria>, runs: Vec<RunView>, heads: &[TaskListItem]) -> Self {
        let status_of = |id: &String| heads.iter().find(|head| head.id == *id).map(|head| head.status);
        let dependencies = row.task.dependencies().iter().map(|id| (id.clone(), status_of(id))).collect();
        let newest_run = heads.iter().find(|head| head.id == row.task.id).and_then(|head| head.run.clone());
        Self { row, runs, dependencies, newest_run, roles }
    }

    /// Returns the stored task.
    #[must_use]
    pub fn row(&self) -> &TaskRow {
        &self.row
    }

    /// Returns the runs of the task, oldest first.
    #[must_use]
    pub fn runs(&self) -> &[RunView] {
        &self.runs
    }

    /// Returns the dependencies with their status; `None` if the task was deleted.
    #[must_use]
    pub fn dependencies(&self) -> &[(String, Option<TaskStatus>)] {
        &self.dependencies
    }

    /// Returns what done means for each role, as `ralph task show` prints it.
    #[must_use]
    pub fn role_texts(&self) -> Vec<(&str, String)> {
        let acceptance = self.row.task.completion.as_ref().map_or(&[][..], |spec| &spec.acceptance_criteria);
        let text = |criteria: &Result<ResolvedStage, TaskProblem>| match criteria {
            Ok(resolved) => role_criteria_text(resolved, acceptance),
            Err(problem) => problem.to_string(),
        };
        self.roles.iter().map(|(role, criteria)| (role.as_str(), text(criteria))).collect()
    }

    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.row.task.status == TaskStatus::Blocked
    }

    /// Returns the JSON object of `task show --json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let TaskRow { task, created_at, updated_at, .. } = &self.row;
        json!({
            "id": task.id,
            "status": task.status.as_str(),
            "proof": proof_level_json(self.row.proof.as_deref()),
            "spec_id": task.spec_id,
            "spec_file": task.spec_file,
            "title": task.title,
            "description": task.description,
            "priority": task.priority(),
            "dependencies": task.dependencies(),
            "assignee": task.assignee,
            "approved": self.row.approval == Approval::Granted,
            "iteration": self.newest_run.as_ref().map_or(0, |run| run.iterations),
            "created_at": timestamp_json(*created_at),
            "updated_at": timestamp_json(*updated_at),
            "metadata": self.metadata_with_run(),
            "completion": task.completion,
            "runs": self.runs.iter().map(RunView::to_json).collect::<Vec<_>>(),
        })
    }

    /// Returns the metadata of the task; `ralph` contains the progress of the running stage.
    fn metadata_with_run(&self) -> Map<String, Value> {
        let mut metadata: Map<String, Value> = serde_json::from_str(&self.row.metadata).unwrap_or_default();
        if let Some(run) = self.newest_run.as_ref().filter(|run| run.status == "running") {
            let state = json!({
                "run": run.id,
                "stage": run.role,
                "iteration": run.iterations,
                "max_iterations": run.max_iterations,
                "started_at": timestamp_json(run.started_at),
                "completion_promise": run.promise,
            });
            metadata.insert("ralph".to_owned(), state);
        }
        metadata
    }

    /// Returns the text of `ralph task show`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.render_heading();
        self.write_completion(&mut text);
        for run in &self.runs {
            let _ = write!(text, "\n{}", run.to_task_section());
        }
        // Text of a task may come from an agent or from an untrusted file.
        sanitize_text(&text)
    }

    fn render_heading(&self) -> String {
        let TaskRow { task, created_at, updated_at, .. } = &self.row;
        let mut text = format!("task      {}  {}\n", task.id, task.title);
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<8}  {value}");
        };
        line("status", &self.status_text());
        if let Some(proof) = &self.row.proof {
            line("proof", proof);
        }
        let specification = [task.spec_id.as_deref(), task.spec_file.as_deref()];
        let specification: Vec<&str> = specification.into_iter().flatten().collect();
        line("spec", if specification.is_empty() { "none".to_owned() } else { specification.join(", ") }.as_str());
        line("priority", &task.priority().to_string());
        for (id, status) in &self.dependencies {
            line("depends", &format!("on {id} ({})", status.map_or("deleted", TaskStatus::as_str)));
        }
        if let Some(assignee) = &task.assignee {
            line("assignee", assignee);
        }
        if self.row.approval == Approval::Pending {
            line("approval", "pending: an agent wrote its checks, and a person must approve them");
        }
        line("created", &format_timestamp(*created_at));
        line("changed", &format_timestamp(*updated_at));
        if let Some(description) = &task.description {
            let _ = write!(text, "\n{}\n", description.trim_end());
        }
        text
    }

    fn status_text(&self) -> String {
        let status = self.row.task.status.as_str();
        match &self.newest_run {
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

    fn write_completion(&self, text: &mut String) {
        let task = &self.row.task;
        match &task.completion {
            None => text.push_str("\nno completion criteria\n"),
            Some(spec) => {
                let _ = write!(text, "\noutcome   {}\n", spec.outcome.trim());
                for criterion in &spec.acceptance_criteria {
                    let _ = writeln!(text, "  - {}", criterion.trim());
                }
                for (label, value) in acceptance_rules(spec) {
                    let _ = writeln!(text, "{label:<8}  {value}");
                }
            }
        }
        text.push('\n');
        let acceptance = task.completion.as_ref().map_or(&[][..], |spec| &spec.acceptance_criteria);
        for (role, criteria) in &self.roles {
            let criteria_text = match criteria {
                Ok(resolved) => role_criteria_text(resolved, acceptance),
                Err(problem) => format!("{problem}\n{:<10}{}", "", problem.hint),
            };
            let _ = writeln!(text, "{:<8}  {criteria_text}", role.as_str());
        }
    }
}

/// Returns the acceptance rules that the task sets, each with its label.
fn acceptance_rules(spec: &CompletionSpec) -> Vec<(&'static str, String)> {
    let guarded = spec.guard.as_ref().map(|patterns| ("guarded", patterns.join(", ")));
    let allowed = spec.allow_changes.as_ref().map(|patterns| ("allowed", patterns.join(", ")));
    let checked = spec.isolation.map(|isolation| {
        (
            "checked",
            match isolation {
                CheckIsolation::Workspace => "in the work tree".to_owned(),
                CheckIsolation::Clean => "in a fresh checkout of the commit".to_owned(),
            },
        )
    });
    [guarded, allowed, checked].into_iter().flatten().collect()
}

/// Returns the promise of a role and its criteria in full, with indented stages.
fn role_criteria_text(resolved: &ResolvedStage, acceptance: &[String]) -> String {
    let most = pluralize(i64::from(resolved.max_iterations), "iteration");
    let mut text = format!("{} · at most {most}", resolved.promise.as_str());
    let mut write = CriteriaWriter { text: &mut text, acceptance };
    resolved.criteria.iter().for_each(|criterion| write.write_criterion(criterion, 10));
    text
}

struct CriteriaWriter<'a> {
    text: &'a mut String,
    /// The acceptance criteria of the task, which are already shown above.
    acceptance: &'a [String],
}

impl CriteriaWriter<'_> {
    fn write_criterion(&mut self, criterion: &Criterion, depth: usize) {
        let shown = criterion.summary_line();
        let mut lines = shown.trim_end().lines();
        let first = lines.next().unwrap_or_default();
        self.write_line(depth, &format!("{}: {first}", criterion.method.name()));
        lines.for_each(|line| self.write_line(depth + 2, line));
        match &criterion.method {
            VerificationMethod::MultiStage(staged) => {
                staged.stages.iter().for_each(|stage| self.write_criterion(&stage.criterion, depth + 2));
            }
            VerificationMethod::Semantic(check) => self.write_semantic_check(check, depth + 2),
            VerificationMethod::StringMatch | VerificationMethod::External(_) | VerificationMethod::Plugin(_) => {}
        }
    }

    fn write_semantic_check(&mut self, check: &SemanticCheck, depth: usize) {
        let is_known = check.check_for == self.acceptance;
        let listed = check.check_for.iter().filter(|_| !is_known);
        listed.for_each(|criterion| self.write_line(depth, &format!("- {}", criterion.trim())));
        check.negative_patterns.iter().for_each(|pattern| self.write_line(depth, &format!("- never {pattern:?}")));
    }

    fn write_line(&mut self, depth: usize, text: &str) {
        let _ = write!(self.text, "\n{:<depth$}{text}", "");
    }
}
