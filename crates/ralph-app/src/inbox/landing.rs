//! Accepted work that the user's branch does not contain yet.
use ralph_core::event::UnixMillis;
use ralph_engine::project::Project;
use ralph_engine::worktree::{WorktreeLayout, list_unlanded_work};
use ralph_store::{DoneTaskRow, RunRow, Store};

use super::{InboxAnswer, InboxItem, InboxKind};
use crate::error::{AppError, AppResult};
use crate::view::{run_title, short_id};

/// Returns finished tasks, and completed runs in work trees, that were not landed. Asks git once.
pub(super) async fn unlanded_work(project: &Project, store: &Store) -> AppResult<Vec<InboxItem>> {
    let names = list_unlanded_names(project).await?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut items: Vec<InboxItem> = store.done_tasks(&names).await?.into_iter().map(item_of_task).collect();
    let short_ids = names.iter().filter_map(|name| name.strip_prefix("run-"));
    let short_ids: Vec<String> = short_ids.map(str::to_owned).collect();
    if !short_ids.is_empty() {
        let runs = store.completed_runs_with_short_ids(&short_ids).await?;
        items.extend(runs.iter().map(item_of_run));
    }
    Ok(items)
}

/// Returns the names of the work trees whose accepted work is not landed. Outside of a repository there is none.
async fn list_unlanded_names(project: &Project) -> AppResult<Vec<String>> {
    let Ok(layout) = WorktreeLayout::for_project(project) else { return Ok(Vec::new()) };
    let listed = tokio::task::spawn_blocking(move || list_unlanded_work(&layout)).await;
    let listed = listed.map_err(|error| AppError::internal(&error))?;
    Ok(listed.map(|works| works.into_iter().map(|work| work.task_id).collect()).unwrap_or_default())
}

fn item_of_task(task: DoneTaskRow) -> InboxItem {
    InboxItem {
        kind: InboxKind::NotLanded,
        id: task.id.clone(),
        task: Some(task.id.clone()),
        run: None,
        title: task.title,
        reason: "done: every stage was accepted, and the work is not in your branch".to_owned(),
        since: Some(UnixMillis(task.updated_at)),
        holds_slot: false,
        blocked_tasks: 0,
        answer: InboxAnswer::Land { name: task.id },
    }
}

fn item_of_run(run: &RunRow) -> InboxItem {
    let short = short_id(&run.id).to_owned();
    InboxItem {
        kind: InboxKind::NotLanded,
        id: short.clone(),
        task: None,
        run: Some(run.id.clone()),
        title: run_title(run),
        reason: "completed: the work is not in your branch".to_owned(),
        since: Some(UnixMillis(run.ended_at.unwrap_or(run.started_at))),
        holds_slot: false,
        blocked_tasks: 0,
        answer: InboxAnswer::Land { name: format!("run-{short}") },
    }
}
