//! Imports tasks from a text.
use ralph_core::task::{TaskAuthor, TaskStatus, is_valid_id};
use ralph_engine::project::Project;

use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::plan::project_templates;
use crate::run::open_existing_store;
use crate::task_files::{ParsedTask, ParsedTasks, TaskFileFormat, parse_tasks};
use crate::tasks::checks::{check_patterns_and_templates, refuse_secrets};
use crate::tasks::{add_tasks, plan_additions};

/// A text with tasks.
pub struct TaskImportSource<'a> {
    pub text: &'a str,
    pub form: TaskFileFormat,
    /// The name of the text in messages.
    pub name: &'a str,
}

pub struct TaskImportRequest<'a> {
    pub source: TaskImportSource<'a>,
    /// The spec of tasks that name none.
    pub spec: Option<&'a str>,
    pub mode: ImportMode,
    pub author: TaskAuthor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    Store,
    /// Check everything, and store nothing.
    DryRun,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedTask {
    pub id: String,
    pub status: TaskStatus,
}

/// Imports tasks, all or none. Warnings are shown as notes before anything is stored.
pub async fn import_tasks(
    project: &Project,
    request: &TaskImportRequest<'_>,
    person: &dyn Interaction,
) -> AppResult<Vec<ImportedTask>> {
    let parsed = read_tasks(project, &request.source, request.spec)?;
    parsed.warnings.iter().for_each(|warning| person.show_note(&format!("warning: {warning}")));
    let imported = parsed.tasks.iter().map(|parsed| &parsed.task);
    let imported = imported.map(|task| ImportedTask { id: task.id.clone(), status: task.status }).collect();
    match request.mode {
        ImportMode::Store => add_tasks(project, parsed.tasks, request.author, |_| Ok(())).await?,
        ImportMode::DryRun => ensure_importable(project, parsed.tasks, request.author).await?,
    }
    Ok(imported)
}

/// Parses tasks and checks each of them. Those that name no spec belong to `spec`.
pub fn read_tasks(project: &Project, source: &TaskImportSource<'_>, spec: Option<&str>) -> AppResult<ParsedTasks> {
    if let Some(spec) = spec.filter(|spec| !is_valid_id(spec)) {
        return Err(AppError::invalid_request(format!("{spec:?} is not a valid id of a spec"))
            .with_advice("such as auth-feature"));
    }
    let mut parsed = parse_tasks(source.text, source.form, source.name)?;
    let templates = project_templates(project);
    for parsed in &mut parsed.tasks {
        parsed.task.spec_id = parsed.task.spec_id.take().or(spec.map(str::to_owned));
        check_patterns_and_templates(&parsed.task, &templates)
            .and_then(|()| refuse_secrets(&parsed.task))
            .map_err(|problem| parsed.origin.locate_problem(&problem))?;
    }
    Ok(parsed)
}

/// Refuses new tasks that do not fit the stored ones.
async fn ensure_importable(project: &Project, new: Vec<ParsedTask>, author: TaskAuthor) -> AppResult<()> {
    let stored = match open_existing_store(project).await? {
        Some(store) => store.list_tasks().await?,
        None => Vec::new(),
    };
    plan_additions(new, &stored, author).map(drop)
}
