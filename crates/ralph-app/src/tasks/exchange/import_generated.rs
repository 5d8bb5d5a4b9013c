//! The end of a run that generates tasks: stores the tasks that the agent wrote, exactly once. Resuming a run whose ralph
//! process died before does the same.
use std::path::PathBuf;

use ralph_core::outcome::{Outcome, RunEnd};
use ralph_core::task::{Approval, TaskAuthor};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, GENERATE_RUN_KIND, PromptSource, RunSpec};
use ralph_store::{RunRow, Store, TaskChange, TaskListItem};
use serde_json::json;

use crate::error::{AppError, AppResult, ErrorKind};
use crate::task_files::{TaskFileFormat, TaskText, read_task_text};
use crate::tasks::{TaskImportSource, plan_additions, read_tasks};

/// The metadata key with the id of the run that generated a task.
const GENERATED_BY_KEY: &str = "generated_by";

/// The tasks of a run that generates tasks.
#[derive(Debug, PartialEq, Eq)]
pub enum GenerationOutcome {
    Imported {
        spec: String,
        tasks: Vec<GeneratedTask>,
    },
    /// They were stored before.
    AlreadyImported,
    /// The run did not complete. The agent's file, if it wrote one, stays.
    NotImported {
        answer: Option<PathBuf>,
    },
}

/// A task that was stored.
#[derive(Debug, PartialEq, Eq)]
pub struct GeneratedTask {
    pub id: String,
    pub approval: Approval,
}

/// Stores the tasks of a completed run that generates tasks, once. Returns `None` for other runs.
pub(crate) async fn finish_generation(
    store: &Store,
    project: &Project,
    run: &str,
    end: &RunEnd,
) -> AppResult<Option<GenerationOutcome>> {
    let row = store.find_runs_by_id_part(run).await?.into_iter().next();
    let Some(row) = row.filter(|row| row.kind == GENERATE_RUN_KIND) else { return Ok(None) };
    if end.outcome != Outcome::Completed {
        let answer = Some(project.generated_tasks_file(run)).filter(|answer| answer.is_file());
        return Ok(Some(GenerationOutcome::NotImported { answer }));
    }
    import_generated_tasks(store, project, &row).await.map(Some)
}

async fn import_generated_tasks(store: &Store, project: &Project, run: &RunRow) -> AppResult<GenerationOutcome> {
    let Some(spec) = generated_spec_id(run)? else { return Ok(GenerationOutcome::AlreadyImported) };
    if is_already_imported(store, &run.id).await? {
        return Ok(GenerationOutcome::AlreadyImported);
    }
    let answer = project.generated_tasks_file(&run.id);
    let TaskText { text, name } = read_task_text(&answer)?;
    let source = TaskImportSource { text: &text, form: TaskFileFormat::Yaml, name: &name };
    let mut parsed = read_tasks(project, &source, Some(&spec))?;
    for task in &mut parsed.tasks {
        task.metadata.insert(GENERATED_BY_KEY.to_owned(), json!(run.id));
    }
    let mut tasks = Vec::new();
    let decide = |existing: &[TaskListItem]| {
        let changes = plan_additions(parsed.tasks, existing, TaskAuthor::Agent)?;
        tasks = changes.iter().filter_map(GeneratedTask::from_change).collect();
        Ok::<_, AppError>(changes)
    };
    store.change_tasks(Clock::wall_now(), decide).await?;
    // The tasks are stored, so a file that cannot be removed is harmless.
    let _ = std::fs::remove_file(answer);
    Ok(GenerationOutcome::Imported { spec, tasks })
}

/// Returns whether the tasks of a run have already been stored.
async fn is_already_imported(store: &Store, run: &str) -> AppResult<bool> {
    let is_generated_by_run = |metadata: &str| {
        let metadata: serde_json::Value = serde_json::from_str(metadata).unwrap_or_default();
        metadata[GENERATED_BY_KEY] == run
    };
    Ok(store.list_full_tasks().await?.iter().any(|row| is_generated_by_run(&row.metadata)))
}

/// Returns the spec from which a stored run generates tasks.
fn generated_spec_id(run: &RunRow) -> AppResult<Option<String>> {
    let spec = RunSpec::parse(&run.settings).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))?;
    Ok(match &spec.prompt {
        PromptSource::Generate(prompt) => Some(prompt.spec_id.clone()),
        PromptSource::Text(_)
        | PromptSource::Complete(_)
        | PromptSource::File(_)
        | PromptSource::Template(_)
        | PromptSource::Stage(_) => None,
    })
}

impl GeneratedTask {
    fn from_change(change: &TaskChange) -> Option<Self> {
        match change {
            TaskChange::Add { task, approval, .. } => Some(Self { id: task.id.clone(), approval: *approval }),
            TaskChange::Replace { .. } | TaskChange::Approve { .. } | TaskChange::Delete { .. } => None,
        }
    }
}
