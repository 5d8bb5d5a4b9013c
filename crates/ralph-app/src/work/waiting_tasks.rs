//! Finds the tasks that are not ready, and what they wait for.
use std::collections::BTreeMap;

use ralph_core::task::{Approval, TaskStatus, unmet_dependencies};
use ralph_store::TaskListItem;

/// A task that is not ready yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingTask {
    pub task_id: String,
    pub waits_for: WaitReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    /// A person must approve its criteria.
    Approval,
    /// These tasks must be done first.
    Dependencies(Vec<String>),
}

/// Returns the tasks to do that wait for an approval or for other tasks.
pub(super) fn find_waiting_tasks(heads: &[TaskListItem]) -> Vec<WaitingTask> {
    let statuses: BTreeMap<&str, TaskStatus> = heads.iter().map(|head| (head.id.as_str(), head.status)).collect();
    let waiting = heads
        .iter()
        .filter(|head| head.status == TaskStatus::Todo)
        .filter_map(|head| Some(WaitingTask { task_id: head.id.clone(), waits_for: wait_reason(head, &statuses)? }));
    waiting.collect()
}

fn wait_reason(head: &TaskListItem, statuses: &BTreeMap<&str, TaskStatus>) -> Option<WaitReason> {
    if head.approval == Approval::Pending {
        return Some(WaitReason::Approval);
    }
    let unmet = unmet_dependencies(&head.dependencies, |id| statuses.get(id).copied());
    (!unmet.is_empty()).then(|| WaitReason::Dependencies(unmet.into_iter().map(str::to_owned).collect()))
}
