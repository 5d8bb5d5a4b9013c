//! Explains runs, iterations, tasks and workflow runs: which rule decided, on what evidence, and which rules did not.
mod run;
mod task;
mod workflow;

use ralph_core::explanation::DecisionExplanation;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;
use serde_json::{Value, json};

use crate::error::{AppError, AppResult};
use crate::run::{FoundRun, find_run, open_existing_store};
use crate::view::{explanation_json, explanation_text, short_id};
use crate::workflow_runs::names_workflow_run;

pub use run::run_headline;

/// The subject of an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExplainedSubject {
    Run {
        id: String,
        task: Option<String>,
        role: Option<String>,
        /// The first line of its prompt.
        title: String,
        /// `None` explains the run.
        iteration: Option<u32>,
        has_ended: bool,
    },
    Task {
        id: String,
        title: String,
    },
    Workflow {
        id: String,
        workflow: String,
    },
}

/// An explanation of a run, an iteration, a task or a workflow run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplanationView {
    pub subject: ExplainedSubject,
    pub explained: DecisionExplanation,
    /// The newest run of a task.
    pub run: Option<Box<ExplanationView>>,
}

/// Explains the task of that id, or the run or workflow run whose id starts or ends with it, or the newest run. With
/// `iteration`, explains that iteration of the run, or of the newest run of the task.
pub async fn explain_decision(
    project: &Project,
    id: Option<&str>,
    iteration: Option<u32>,
) -> AppResult<ExplanationView> {
    if let (Some(id), Some(store)) = (id, open_existing_store(project).await?) {
        let row = store.get_task(id).await?;
        if let (Some(row), None) = (row, iteration) {
            return task::explain_task_row(project, &store, row).await;
        }
        store.close().await;
    }
    if names_workflow_run(project, id).await? {
        return match iteration {
            None => workflow::explain_workflow_run(project, id).await,
            Some(_) => Err(AppError::invalid_request("a workflow run has no iterations")
                .with_advice("name one of the runs of its nodes")),
        };
    }
    let FoundRun { store, run } = find_run(project, id).await?;
    match iteration {
        None => run::explain_run(&store, run).await,
        Some(number) => run::explain_run_iteration(&store, run, number).await,
    }
}

impl ExplanationView {
    /// Returns the JSON object of `why --json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = match &self.subject {
            ExplainedSubject::Run { id, task, role, title, iteration, has_ended: _ } => json!({
                "kind": if iteration.is_some() { "iteration" } else { "run" },
                "id": id, "task": task, "role": role, "iteration": iteration, "prompt": title,
            }),
            ExplainedSubject::Task { id, title } => json!({ "kind": "task", "id": id, "title": title }),
            ExplainedSubject::Workflow { id, workflow } => {
                json!({ "kind": "workflow", "id": id, "workflow": workflow })
            }
        };
        if let Some(fields) = object.as_object_mut() {
            fields.extend(explanation_json(&self.explained));
            fields.insert("run".to_owned(), self.run.as_ref().map_or(Value::Null, |run| run.to_json()));
        }
        object
    }

    /// Returns the text of `ralph why`. Its first line is the headline.
    #[must_use]
    pub fn to_text(&self) -> String {
        let headline = sanitize_text(&self.explained.headline);
        let others = match &self.subject {
            ExplainedSubject::Run { has_ended: false, .. } => "what could end it",
            ExplainedSubject::Task { .. } => "other rules",
            ExplainedSubject::Run { .. } | ExplainedSubject::Workflow { .. } => "rules that did not apply",
        };
        let text = explanation_text(&self.explained, others);
        let mut text = format!("{headline}\n{}\n\n{text}", sanitize_text(&self.subject.to_line()));
        if let Some(run) = &self.run {
            text.push_str(&format!("\nits newest run\n{}", run.to_text()));
        }
        text
    }
}

impl ExplainedSubject {
    fn to_line(&self) -> String {
        match self {
            Self::Run { id, task, role, title, .. } => {
                let stage = task.as_ref().zip(role.as_ref()).map(|(task, role)| format!("{task} {role}"));
                let parts = [Some(format!("run {}", short_id(id))), stage, Some(title.clone())];
                let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
                parts.join(" · ")
            }
            Self::Task { id, title } => format!("task {id} · {title}"),
            Self::Workflow { id, workflow } => format!("workflow {workflow} · run {}", short_id(id)),
        }
    }
}
