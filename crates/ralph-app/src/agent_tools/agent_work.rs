//! The work of an agent: the task with its criteria and specification, the notes, the guidance, and why the last claim was not
//! accepted.
use std::io::{Read, Seek, SeekFrom};

use ralph_core::criterion::Criterion;
use ralph_core::prompt::MAX_NOTES_BYTES;
use ralph_core::task::{Role, Specification, Task};
use ralph_engine::project::Project;
use ralph_engine::run_driver::RunSpec;
use ralph_store::{IterationRow, RunRow, Store, TaskRow};
use ralph_util::private_files;
use serde::Serialize;

use super::tool_caller::ensure_short_id;
use super::{ToolCaller, clean_output};
use crate::config::Settings;
use crate::error::{AppError, AppResult};
use crate::plan::read_specification;
use crate::run::{FoundRun, find_run, open_existing_store};
use crate::task_files::find_task;
use crate::tasks::stage_criteria;
use crate::view::{run_title, short_id};

/// The work of an agent. Texts are bounded, and free of secrets and signal tags.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WorkDescription {
    /// The id that the other tools need.
    pub run: Option<String>,
    pub task: Option<String>,
    pub role: Option<String>,
    pub status: String,
    pub title: String,
    pub description: Option<String>,
    /// The condition that is true when the work is done.
    pub outcome: Option<String>,
    pub acceptance_criteria: Vec<String>,
    /// The criteria that ralph verifies after a claim, one line each.
    pub criteria: Vec<String>,
    /// The text of the promise, for agents that claim with a tag.
    pub promise: Option<String>,
    pub iteration: Option<i64>,
    pub max_iterations: Option<i64>,
    pub specification: Option<SpecificationText>,
    pub notes: Option<String>,
    /// The guidance that is part of every prompt.
    pub guidance: Vec<String>,
    /// Why the last claim was not accepted.
    pub last_rejection: Option<String>,
}

/// The specification of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpecificationText {
    pub path: String,
    /// `None` if the file cannot be read.
    pub text: Option<String>,
}

/// Returns the work with this id, a task or a run; without an id that of the caller.
pub async fn read_work(
    project: &Project,
    caller: &ToolCaller,
    settings: &Settings,
    id: Option<&str>,
) -> AppResult<WorkDescription> {
    id.map_or(Ok(()), ensure_short_id)?;
    let Some(own) = caller.readable_run()? else {
        let Some(id) = id.filter(|id| !id.trim().is_empty()) else {
            return Err(AppError::invalid_request("no ralph run started this agent, so it has no task of its own")
                .with_advice("give the id of a task or a run"));
        };
        return read_any_work(project, settings, id).await;
    };
    let found = find_run(project, Some(own)).await?;
    let is_own = |id: &str| id == own || id == short_id(own) || found.run.task.as_deref() == Some(id);
    if let Some(other) = id.filter(|id| !is_own(id)) {
        found.store.close().await;
        return Err(AppError::invalid_request(format!("{other:?} is not the work of this agent"))
            .with_advice("leave the id out to read your own task"));
    }
    describe_found_run(project, settings, found).await
}

async fn read_any_work(project: &Project, settings: &Settings, id: &str) -> AppResult<WorkDescription> {
    let store = open_existing_store(project).await?;
    let is_task = match &store {
        Some(store) => store.get_task(id).await?.is_some(),
        None => false,
    };
    if let Some(store) = store {
        store.close().await;
    }
    if is_task {
        let found = find_task(project, id).await?;
        let work = describe_task(project, settings, &found.row, &Role::Coder);
        found.store.close().await;
        return Ok(WorkDescription { status: found.row.task.status.as_str().to_owned(), ..work });
    }
    describe_found_run(project, settings, find_run(project, Some(id)).await?).await
}

async fn describe_found_run(project: &Project, settings: &Settings, found: FoundRun) -> AppResult<WorkDescription> {
    let task = match &found.run.task {
        Some(task) => found.store.get_task(task).await?,
        None => None,
    };
    let work = describe_run(project, settings, &found.store, &found.run, task).await;
    found.store.close().await;
    work
}

async fn describe_run(
    project: &Project,
    settings: &Settings,
    store: &Store,
    run: &RunRow,
    task: Option<TaskRow>,
) -> AppResult<WorkDescription> {
    let guidance = store.standing_guidance(Some(&run.id), run.task.as_deref()).await?;
    let iterations = store.iterations_of_run(&run.id).await?;
    let role = run.role.as_deref().and_then(|role| Role::parse(role).ok()).unwrap_or(Role::Coder);
    let work = task.map(|row| describe_task(project, settings, &row, &role));
    let work =
        work.unwrap_or_else(|| WorkDescription { title: clean_output(&run_title(run)), ..WorkDescription::default() });
    // The criteria of the run itself: those of the task may have changed since it started.
    let criteria = RunSpec::parse(&run.settings).map_or(work.criteria, |spec| criterion_lines(&spec.criteria));
    Ok(WorkDescription {
        run: Some(run.id.clone()),
        task: run.task.clone(),
        role: run.role.clone(),
        status: run.status.clone(),
        promise: Some(run.promise.clone()),
        iteration: Some(run.iterations),
        max_iterations: Some(run.max_iterations),
        criteria,
        notes: read_notes(project, &run.id),
        guidance: guidance.iter().map(|words| clean_output(words)).collect(),
        last_rejection: last_rejection(&iterations),
        ..work
    })
}

fn describe_task(project: &Project, settings: &Settings, row: &TaskRow, role: &Role) -> WorkDescription {
    let task = &row.task;
    let completion = task.completion.as_ref();
    WorkDescription {
        task: Some(task.id.clone()),
        title: clean_output(&task.title),
        description: task.description.as_deref().map(clean_output),
        outcome: completion.map(|spec| clean_output(&spec.outcome)),
        acceptance_criteria: completion
            .map_or(&[][..], |spec| &spec.acceptance_criteria)
            .iter()
            .map(|text| clean_output(text))
            .collect(),
        criteria: stage_criteria(project, task, role, settings).map_or_else(Vec::new, |all| criterion_lines(&all)),
        specification: specification_text(settings, project, task),
        ..WorkDescription::default()
    }
}

fn criterion_lines(criteria: &[Criterion]) -> Vec<String> {
    criteria.iter().map(|criterion| clean_output(&criterion.summary_line())).collect()
}

fn specification_text(settings: &Settings, project: &Project, task: &Task) -> Option<SpecificationText> {
    Some(match read_specification(settings, project, task)? {
        Specification::Found { path, text, .. } => SpecificationText { path, text: Some(clean_output(&text)) },
        Specification::Missing { path } => SpecificationText { path, text: None },
    })
}

/// Returns the end of the notes, as much as a prompt quotes.
fn read_notes(project: &Project, run: &str) -> Option<String> {
    let mut file = private_files::open_regular_file(&project.notes_file(run)).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_NOTES_BYTES as u64))).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_NOTES_BYTES as u64).read_to_end(&mut bytes).ok()?;
    let text = clean_output(&String::from_utf8_lossy(&bytes));
    (!text.trim().is_empty()).then_some(text)
}

fn last_rejection(iterations: &[IterationRow]) -> Option<String> {
    let ended = iterations.iter().rev().find(|iteration| iteration.claimed.is_some())?;
    let is_rejected = ended.verdict.as_deref().is_some_and(|verdict| verdict != "accepted");
    ended.verdict_reason.as_deref().filter(|_| is_rejected).map(clean_output)
}
