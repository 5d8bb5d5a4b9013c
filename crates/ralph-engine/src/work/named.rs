//! Named tasks that the work on them cannot make ready.
use std::collections::{BTreeMap, BTreeSet};

use ralph_core::task::{Awaited, Status, stuck};

use super::task::TaskEnd;
use ralph_store::{Lease, TaskHead};

/// Returns which of these tasks will not become ready, and why, while only the named ones are worked on.
pub(super) fn given_up<'a>(
    of: impl Iterator<Item = &'a String>,
    named: &[String],
    heads: &[TaskHead],
    leases: &[Lease],
) -> Vec<(String, TaskEnd)> {
    let heads: BTreeMap<&str, &TaskHead> = heads.iter().map(|head| (head.id.as_str(), head)).collect();
    let taken = leases.iter().filter(|lease| !lease.is_over).map(|lease| lease.claim.task.as_str());
    let taken: BTreeSet<&str> = taken.collect();
    let known = |id: &str| {
        let head = heads.get(id)?;
        let (dependencies, is_taken) = (head.dependencies.as_slice(), taken.contains(id));
        Some(Awaited { status: head.status, approval: head.approval, dependencies, is_taken })
    };
    let end = |task: &String| {
        let why = stuck(task, named, &known)?;
        let is_done = known(task).is_some_and(|task| task.status == Status::Done);
        Some(if is_done {
            TaskEnd::Over { status: Status::Done, why, is_agent_s_fault: false }
        } else {
            TaskEnd::Aside { why }
        })
    };
    of.filter_map(|task| Some((task.clone(), end(task)?))).collect()
}
