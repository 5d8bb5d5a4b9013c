//! Finds requested tasks that cannot become ready.
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use super::{Approval, TaskStatus};

/// The state of a task that a worker waits for.
#[derive(Debug, Clone, Copy)]
pub struct AwaitedTask<'a> {
    pub status: TaskStatus,
    pub approval: Approval,
    pub dependencies: &'a [String],
    pub is_leased: bool,
}

/// Why a task cannot become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StuckReason {
    Missing,
    Done,
    Blocked {
        task: String,
    },
    Cancelled {
        task: String,
    },
    /// An agent wrote its checks, and they are not approved.
    Unapproved {
        task: String,
    },
    /// It waits for a requested task that is stuck.
    StuckDependency {
        task: String,
        reason: Box<StuckReason>,
    },
    /// It waits for a task that was not requested.
    UnrequestedDependency {
        task: String,
    },
}

impl StuckReason {
    /// Returns the reason at the end of the chain of dependencies.
    #[must_use]
    pub fn root_cause(&self) -> &Self {
        let mut cause = self;
        while let Self::StuckDependency { reason, .. } = cause {
            cause = reason;
        }
        cause
    }
}

impl fmt::Display for StuckReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("the task no longer exists"),
            Self::Done => f.write_str("it is already done"),
            Self::Blocked { .. } => f.write_str("it is blocked"),
            Self::Cancelled { .. } => f.write_str("it was cancelled"),
            Self::Unapproved { .. } => f.write_str("its checks are not approved"),
            Self::StuckDependency { task, reason } => write!(f, "it waits for {task}: {reason}"),
            Self::UnrequestedDependency { task } => write!(f, "it waits for {task}, which was not requested"),
        }
    }
}

/// Returns the reason why a task cannot become ready if only the requested tasks are worked on. Returns `None` if it is
/// ready or may become ready.
#[must_use]
pub fn stuck_reason<'a>(
    id: &str,
    requested: &[String],
    find_task: &impl Fn(&str) -> Option<AwaitedTask<'a>>,
) -> Option<StuckReason> {
    let Some(task) = find_task(id) else { return Some(StuckReason::Missing) };
    if task.is_leased {
        return None;
    }
    match task.status {
        TaskStatus::Done => return Some(StuckReason::Done),
        TaskStatus::Blocked => return Some(StuckReason::Blocked { task: id.to_owned() }),
        TaskStatus::Cancelled => return Some(StuckReason::Cancelled { task: id.to_owned() }),
        TaskStatus::Todo | TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => {}
    }
    if task.approval == Approval::Pending {
        return Some(StuckReason::Unapproved { task: id.to_owned() });
    }
    let unmet = task.dependencies.iter().filter(|on| find_task(on).is_none_or(|on| on.status != TaskStatus::Done));
    unmet.filter(|on| find_task(on).is_none_or(|on| !on.is_leased)).find_map(|on| {
        if requested.contains(on) {
            let reason = stuck_reason(on, requested, find_task)?;
            return Some(StuckReason::StuckDependency { task: on.clone(), reason: Box::new(reason) });
        }
        Some(StuckReason::UnrequestedDependency { task: on.clone() })
    })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn stuck_reasons(tasks: &[(&str, TaskStatus, &[String], bool)], requested: &[&str]) -> Vec<Option<StuckReason>> {
        let requested: Vec<String> = requested.iter().map(|id| (*id).to_owned()).collect();
        let find_task = |id: &str| {
            let (_, status, dependencies, is_leased) = tasks.iter().find(|task| task.0 == id)?;
            let approval = Approval::Granted;
            Some(AwaitedTask { status: *status, approval, dependencies, is_leased: *is_leased })
        };
        requested.iter().map(|id| stuck_reason(id, &requested, &find_task)).collect()
    }

    // spec: P1
    #[test]
    fn ended_tasks_and_tasks_that_wait_for_an_idle_task_are_stuck() {
        let (on_a, on_b) = (vec!["a".to_owned()], vec!["b".to_owned()]);
        let reasons = stuck_reasons(&[("a", TaskStatus::Done, &[], false)], &["a"]);
        assert_eq!(reasons, [Some(StuckReason::Done)]);
        let waits = [("a", TaskStatus::Todo, &[][..], false), ("b", TaskStatus::Todo, &on_a, false)];
        assert_eq!(stuck_reasons(&waits, &["b"]), [Some(StuckReason::UnrequestedDependency { task: "a".to_owned() })]);
        let chain = [
            ("a", TaskStatus::Blocked, &[][..], false),
            ("b", TaskStatus::Todo, &on_a, false),
            ("c", TaskStatus::Todo, &on_b, false),
        ];
        let reason = stuck_reasons(&chain, &["a", "b", "c"])[2].clone().unwrap();
        assert_eq!(reason.to_string(), "it waits for b: it waits for a: it is blocked");
        assert_eq!(*reason.root_cause(), StuckReason::Blocked { task: "a".to_owned() });
    }

    // spec: P1
    #[test]
    fn ready_and_leased_tasks_are_not_stuck() {
        let on_a = vec!["a".to_owned()];
        let ready = [("a", TaskStatus::Todo, &[][..], false), ("b", TaskStatus::Todo, &on_a, false)];
        assert_eq!(stuck_reasons(&ready, &["a", "b"]), [None, None]);
        let leased = [("a", TaskStatus::Coding, &[][..], true), ("b", TaskStatus::Todo, &on_a, false)];
        assert_eq!(stuck_reasons(&leased, &["b"]), [None], "another worker may finish the dependency");
    }
}
