//! Finds named tasks that cannot become ready.
use std::collections::{BTreeMap, BTreeSet};

use ralph_core::task::{AwaitedTask, StuckReason, TaskStatus, stuck_reason};

use super::task_runner::{EndedTask, TaskEnd};
use crate::advice::Advice;
use crate::control::ControlAdvice;
use crate::error::AppError;
use ralph_store::{LeaseRow, TaskListItem};

/// Returns which of these tasks cannot become ready while the worker takes only the named ones, and why.
pub(super) fn find_stuck_tasks<'a>(
    candidates: impl Iterator<Item = &'a String>,
    named: &[String],
    heads: &[TaskListItem],
    leases: &[LeaseRow],
    describe: &dyn Fn(&AppError) -> String,
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
        let stuck = stuck_reason(task, named, &known)?;
        if stuck == StuckReason::Done {
            let reason = stuck.to_string();
            return Some(TaskEnd::Finished { status: TaskStatus::Done, reason, is_agent_failure: false });
        }
        let error = AppError::preflight(&stuck);
        let error = advice_for(stuck.root_cause()).into_iter().fold(error, AppError::with_advice);
        Some(TaskEnd::Deferred { reason: describe(&error) })
    };
    candidates.filter_map(|task| Some(EndedTask { task_id: task.clone(), end: end(task)? })).collect()
}

/// Returns how to make the task ready, if a person can.
fn advice_for(reason: &StuckReason) -> Option<Advice> {
    match reason {
        StuckReason::Blocked { task } | StuckReason::Cancelled { task } => {
            Some(Advice::Control(ControlAdvice::RetryTask { task: task.clone() }))
        }
        StuckReason::Unapproved { task } => Some(Advice::ApproveTask { task: task.clone() }),
        StuckReason::Missing
        | StuckReason::Done
        | StuckReason::StuckDependency { .. }
        | StuckReason::UnrequestedDependency { .. } => None,
    }
}
