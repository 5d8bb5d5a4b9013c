//! Finds named tasks that cannot become ready.
use std::collections::{BTreeMap, BTreeSet};

use ralph_core::task::{AwaitedTask, TaskStatus, stuck_reason};

use super::task_runner::{EndedTask, TaskEnd};
use ralph_store::{LeaseRow, TaskListItem};

/// Returns which of these tasks cannot become ready while the worker takes only the named ones, and why.
pub(super) fn find_stuck_tasks<'a>(
    candidates: impl Iterator<Item = &'a String>,
    named: &[String],
    heads: &[TaskListItem],
    leases: &[LeaseRow],
) -> Vec<EndedTask> {
    let heads: BTreeMap<&str, &TaskListItem> = heads.iter().map(|head| (head.id.as_str(), head)).collect();
    let taken = leases.iter().filter(|lease| !lease.is_expired).map(|lease| lease.task_lease.task_id.as_str());
    let taken: BTreeSet<&str> = taken.collect();
    let known = |id: &str| {
        let head = heads.get(id)?;
        let (dependencies, is_taken) = (head.dependencies.as_slice(), taken.contains(id));
        Some(AwaitedTask { status: head.status, approval: head.approval, dependencies, is_leased: is_taken })
    };
    let end = |task: &String| {
        let reason = stuck_reason(task, named, &known)?;
        let is_done = known(task).is_some_and(|task| task.status == TaskStatus::Done);
        Some(if is_done {
            TaskEnd::Finished { status: TaskStatus::Done, reason, is_agent_failure: false }
        } else {
            TaskEnd::Deferred { reason }
        })
    };
    candidates.filter_map(|task| Some(EndedTask { task_id: task.clone(), end: end(task)? })).collect()
}
