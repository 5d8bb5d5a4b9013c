//! Tasks that somebody asked for by name, and that cannot become ready by the work on them.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::{Approval, Status};

/// What is known of a task that somebody waits for.
#[derive(Debug, Clone, Copy)]
pub struct Awaited<'a> {
    pub status: Status,
    pub approval: Approval,
    pub dependencies: &'a [String],
    /// A worker has it.
    pub is_taken: bool,
}

/// Says why a task will not become ready while only the named ones are worked on, if that is so.
#[must_use]
pub fn stuck<'a>(id: &str, named: &[String], known: &impl Fn(&str) -> Option<Awaited<'a>>) -> Option<String> {
    let Some(task) = known(id) else { return Some("there is no such task any more".to_owned()) };
    if task.is_taken {
        return None;
    }
    match task.status {
        Status::Done => return Some("it is done already".to_owned()),
        Status::Blocked => return Some(format!("it is blocked; `ralph retry {id}` puts it back")),
        Status::Cancelled => return Some(format!("it was cancelled; `ralph retry {id}` puts it back")),
        Status::Todo | Status::Coding | Status::Reviewing | Status::Testing | Status::Qa => {}
    }
    if task.approval == Approval::Awaited {
        return Some(format!("its checks wait for a person's word: `ralph task approve {id}`"));
    }
    let unmet = task.dependencies.iter().filter(|on| known(on).is_none_or(|on| on.status != Status::Done));
    unmet.filter(|on| known(on).is_none_or(|on| !on.is_taken)).find_map(|on| {
        if named.contains(on) {
            let why = stuck(on, named, known)?;
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

    fn why(tasks: &[(&str, Status, &[String], bool)], named: &[&str]) -> Vec<Option<String>> {
        let named: Vec<String> = named.iter().map(|id| (*id).to_owned()).collect();
        let known = |id: &str| {
            let (_, status, dependencies, is_taken) = tasks.iter().find(|task| task.0 == id)?;
            let approval = Approval::Given;
            Some(Awaited { status: *status, approval, dependencies, is_taken: *is_taken })
        };
        named.iter().map(|id| stuck(id, &named, &known)).collect()
    }

    // spec: P1
    #[test]
    fn what_is_over_or_waits_for_what_nobody_works_on_is_stuck() {
        let (on_a, on_b) = (vec!["a".to_owned()], vec!["b".to_owned()]);
        let said = why(&[("a", Status::Done, &[], false)], &["a"]);
        assert_eq!(said, [Some("it is done already".to_owned())]);
        let waits = [("a", Status::Todo, &[][..], false), ("b", Status::Todo, &on_a, false)];
        assert_eq!(why(&waits, &["b"]), [Some("it waits for a, which was not named".to_owned())]);
        let chain = [
            ("a", Status::Blocked, &[][..], false),
            ("b", Status::Todo, &on_a, false),
            ("c", Status::Todo, &on_b, false),
        ];
        let expected = "it waits for b: it waits for a: it is blocked; `ralph retry a` puts it back";
        assert_eq!(why(&chain, &["a", "b", "c"])[2].as_deref(), Some(expected));
    }

    // spec: P1
    #[test]
    fn what_is_ready_or_in_the_hands_of_a_worker_is_not() {
        let on_a = vec!["a".to_owned()];
        let ready = [("a", Status::Todo, &[][..], false), ("b", Status::Todo, &on_a, false)];
        assert_eq!(why(&ready, &["a", "b"]), [None, None]);
        let taken = [("a", Status::Coding, &[][..], true), ("b", Status::Todo, &on_a, false)];
        assert_eq!(why(&taken, &["b"]), [None], "another worker may finish what it waits for");
    }
}
