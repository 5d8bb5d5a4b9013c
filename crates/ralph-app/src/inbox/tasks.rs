//! Tasks that wait for a person: blocked ones, and those whose checks an agent wrote.
use std::collections::BTreeMap;

use ralph_core::event::UnixMillis;
use ralph_core::explanation::headline;
use ralph_core::task::TaskStatus;
use ralph_store::{LoopRow, Store, WaitingTaskRow};

use super::runs::{EndedLoop, end_of_loop};
use super::{InboxAnswer, InboxItem, InboxKind};
use crate::error::AppResult;

pub(crate) async fn waiting_tasks(store: &Store) -> AppResult<Vec<InboxItem>> {
    let waiting = store.tasks_waiting_for_person().await?;
    let runs: Vec<String> = waiting.iter().filter(|task| task.is_blocked).filter_map(|task| task.run.clone()).collect();
    let loops = if runs.is_empty() { Vec::new() } else { store.loops_of_runs(&runs).await? };
    let loops: BTreeMap<String, LoopRow> = loops.into_iter().map(|row| (row.run.id.clone(), row)).collect();
    let item = |task: WaitingTaskRow| match task.is_blocked {
        true => blocked_task(task.run.as_ref().and_then(|run| loops.get(run)), &task),
        false => unapproved_task(&task),
    };
    Ok(waiting.into_iter().map(item).collect())
}

fn unapproved_task(task: &WaitingTaskRow) -> InboxItem {
    InboxItem {
        kind: InboxKind::CheckApproval,
        reason: "an agent wrote its checks, and they are not approved".to_owned(),
        answer: InboxAnswer::ApproveTask { task: task.id.clone() },
        ..item_of_task(task)
    }
}

/// Returns a blocked task with the end of its newest run.
fn blocked_task(row: Option<&LoopRow>, task: &WaitingTaskRow) -> InboxItem {
    let retry = InboxAnswer::RetryTask { task: task.id.clone() };
    let item = InboxItem { answer: retry, ..item_of_task(task) };
    let Some(EndedLoop { kind, reason, answer }) = row.and_then(|row| end_of_loop(row, &task.id)) else { return item };
    InboxItem { kind, reason, answer, ..item }
}

fn item_of_task(task: &WaitingTaskRow) -> InboxItem {
    InboxItem {
        kind: InboxKind::Blocked,
        id: task.id.clone(),
        task: Some(task.id.clone()),
        run: task.run.clone(),
        title: task.title.clone(),
        reason: headline(TaskStatus::Blocked.as_str(), "a person set this status"),
        since: Some(UnixMillis(task.updated_at)),
        holds_slot: false,
        blocked_tasks: 0,
        answer: InboxAnswer::StartWorker,
    }
}
