//! Finds requested tasks that cannot become ready.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::{Approval, TaskStatus};

/// The state of a task that a worker waits for.
#[derive(Debug, Clone, Copy)]
pub struct AwaitedTask<'a> {
    pub status: TaskStatus,
    pub approval: Approval,
    pub dependencies: &'a [String],
    pub is_leased: bool,
}

/// Returns the reason why a task cannot become ready if only the requested tasks are worked on. Returns `None` if it is
/// ready or may become ready.
#[must_use]
pub fn stuck_reason<'a>(
    id: &str,
    requested: &[String],
    find_task: &impl Fn(&str) -> Option<AwaitedTask<'a>>,
) -> Option<String> {
    let Some(task) = find_task(id) else { return Some("the task no longer exists".to_owned()) };
    if task.is_leased {
        return None;
    }
    match task.status {
        TaskStatus::Done => return Some("it is already done".to_owned()),
        TaskStatus::Blocked => return Some(format!("it is blocked; `ralph retry {id}` makes it ready again")),
        TaskStatus::Cancelled => return Some(format!("it was cancelled; `ralph retry {id}` makes it ready again")),
        TaskStatus::Todo | TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => {}
    }
    if task.approval == Approval::Pending {
        return Some(format!("its checks are not approved; approve them with `ralph task approve {id}`"));
    }
    let unmet = task.dependencies.iter().filter(|on| find_task(on).is_none_or(|on| on.status != TaskStatus::Done));
    unmet.filter(|on| find_task(on).is_none_or(|on| !on.is_leased)).find_map(|on| {
        if requested.contains(on) {
            let reason = stuck_reason(on, requested, find_task)?;
            return Some(format!("it waits for {on}: {reason}"));
        }
        Some(format!("it waits for {on}, which was not requested"))
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn stuck_reasons(tasks: &[(&str, TaskStatus, &[String], bool)], requested: &[&str]) -> Vec<Option<String>> {
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
        assert_eq!(reasons, [Some("it is already done".to_owned())]);
        let waits = [("a", TaskStatus::Todo, &[][..], false), ("b", TaskStatus::Todo, &on_a, false)];
        assert_eq!(stuck_reasons(&waits, &["b"]), [Some("it waits for a, which was not requested".to_owned())]);
        let chain = [
            ("a", TaskStatus::Blocked, &[][..], false),
            ("b", TaskStatus::Todo, &on_a, false),
            ("c", TaskStatus::Todo, &on_b, false),
        ];
        let expected = "it waits for b: it waits for a: it is blocked; `ralph retry a` makes it ready again";
        assert_eq!(stuck_reasons(&chain, &["a", "b", "c"])[2].as_deref(), Some(expected));
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
