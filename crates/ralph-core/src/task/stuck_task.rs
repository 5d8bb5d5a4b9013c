//! Tasks that somebody asked for by name, and that cannot become ready by the work on them.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::{Approval, TaskStatus};

/// What is known of a task that somebody waits for.
#[derive(Debug, Clone, Copy)]
pub struct AwaitedTask<'a> {
    pub status: TaskStatus,
    pub approval: Approval,
    pub dependencies: &'a [String],
    /// A worker has it.
    pub is_leased: bool,
}

/// Says why a task will not become ready while only the named ones are worked on, if that is so.
#[must_use]
pub fn stuck_reason<'a>(
    id: &str,
    requested: &[String],
    find_task: &impl Fn(&str) -> Option<AwaitedTask<'a>>,
) -> Option<String> {
    let Some(task) = find_task(id) else { return Some("there is no such task any more".to_owned()) };
    if task.is_leased {
        return None;
    }
    match task.status {
        TaskStatus::Done => return Some("it is done already".to_owned()),
        TaskStatus::Blocked => return Some(format!("it is blocked; `ralph retry {id}` puts it back")),
        TaskStatus::Cancelled => return Some(format!("it was cancelled; `ralph retry {id}` puts it back")),
        TaskStatus::Todo | TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => {}
    }
    if task.approval == Approval::Pending {
        return Some(format!("its checks wait for a person's word: `ralph task approve {id}`"));
    }
    let unmet = task.dependencies.iter().filter(|on| find_task(on).is_none_or(|on| on.status != TaskStatus::Done));
    unmet.filter(|on| find_task(on).is_none_or(|on| !on.is_leased)).find_map(|on| {
        if requested.contains(on) {
            let why = stuck_reason(on, requested, find_task)?;
            return Some(format!("it waits for {on}: {why}"));
        }
        Some(format!("it waits for {on}, which was not named"))
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn stuck_reasons(tasks: &[(&str, TaskStatus, &[String], bool)], named: &[&str]) -> Vec<Option<String>> {
        let named: Vec<String> = named.iter().map(|id| (*id).to_owned()).collect();
        let known = |id: &str| {
            let (_, status, dependencies, is_taken) = tasks.iter().find(|task| task.0 == id)?;
            let approval = Approval::Granted;
            Some(AwaitedTask { status: *status, approval, dependencies, is_leased: *is_taken })
        };
        named.iter().map(|id| stuck_reason(id, &named, &known)).collect()
    }

    // spec: P1
    #[test]
    fn ended_tasks_and_tasks_that_wait_for_an_idle_task_are_stuck() {
        let (on_a, on_b) = (vec!["a".to_owned()], vec!["b".to_owned()]);
        let said = stuck_reasons(&[("a", TaskStatus::Done, &[], false)], &["a"]);
        assert_eq!(said, [Some("it is done already".to_owned())]);
        let waits = [("a", TaskStatus::Todo, &[][..], false), ("b", TaskStatus::Todo, &on_a, false)];
        assert_eq!(stuck_reasons(&waits, &["b"]), [Some("it waits for a, which was not named".to_owned())]);
        let chain = [
            ("a", TaskStatus::Blocked, &[][..], false),
            ("b", TaskStatus::Todo, &on_a, false),
            ("c", TaskStatus::Todo, &on_b, false),
        ];
        let expected = "it waits for b: it waits for a: it is blocked; `ralph retry a` puts it back";
        assert_eq!(stuck_reasons(&chain, &["a", "b", "c"])[2].as_deref(), Some(expected));
    }

    // spec: P1
    #[test]
    fn ready_and_leased_tasks_are_not_stuck() {
        let on_a = vec!["a".to_owned()];
        let ready = [("a", TaskStatus::Todo, &[][..], false), ("b", TaskStatus::Todo, &on_a, false)];
        assert_eq!(stuck_reasons(&ready, &["a", "b"]), [None, None]);
        let taken = [("a", TaskStatus::Coding, &[][..], true), ("b", TaskStatus::Todo, &on_a, false)];
        assert_eq!(stuck_reasons(&taken, &["b"]), [None], "another worker may finish what it waits for");
    }
}
