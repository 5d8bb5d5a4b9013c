//! Explains tasks.
use ralph_core::explanation::{TaskDependencyFacts, TaskFacts, explain_task};
use ralph_core::task::TaskStatus;
use ralph_engine::lock::RunOwner;
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};

use super::run::explain_run;
use super::{ExplainedSubject, ExplanationView};
use crate::config::ConfigSource;
use crate::error::AppResult;
use crate::run::with_actual_status;

/// Explains a task together with its newest run.
pub(super) async fn explain_task_row(project: &Project, store: &Store, row: TaskRow) -> AppResult<ExplanationView> {
    let id = row.task.id.clone();
    let progress = store.task_progress(&id).await?;
    let unmet = unmet_dependencies(store, &row).await?;
    let newest = store.runs_of_task(&id).await?.pop().map(|run| with_actual_status(project, run));
    let run_end = newest.as_ref().and_then(ralph_store::RunRow::run_end);
    let run = match newest {
        Some(run) => Some(explain_run(store, run).await?),
        None => None,
    };
    // A task can be explained with a configuration that cannot be read.
    let limits = ConfigSource::default().load_settings(Some(project)).ok().map(|settings| settings.pipeline);
    let facts = TaskFacts {
        status: row.task.status,
        approval: row.approval,
        progress: progress.as_ref(),
        unmet: &unmet,
        is_leased: is_leased(store, &id).await?,
        run_headline: run.as_ref().map(|run| run.explained.headline.as_str()),
        run_end: run_end.as_ref(),
        max_attempts: limits.as_ref().map(|limits| limits.max_attempts.value),
        max_rounds: limits.as_ref().map(|limits| limits.max_rounds.value),
    };
    let explained = explain_task(&facts);
    let subject = ExplainedSubject::Task { id, title: row.task.title };
    Ok(ExplanationView { subject, explained, run: run.map(Box::new) })
}

async fn unmet_dependencies(store: &Store, row: &TaskRow) -> AppResult<Vec<TaskDependencyFacts>> {
    let mut unmet = Vec::new();
    for id in row.task.dependencies() {
        let status = store.get_task(id).await?.map(|found| found.task.status);
        if status != Some(TaskStatus::Done) {
            unmet.push(TaskDependencyFacts { id: id.clone(), status });
        }
    }
    Ok(unmet)
}

/// Returns whether a live worker has the task.
async fn is_leased(store: &Store, id: &str) -> AppResult<bool> {
    let leases = store.list_leases().await?;
    let lease = leases.into_iter().find(|lease| lease.task_lease.task_id == id && !lease.is_expired);
    let owner = lease.as_ref().and_then(|lease| RunOwner::parse(&lease.owner));
    Ok(owner.is_some_and(|owner| !owner.process.has_exited_here()))
}
