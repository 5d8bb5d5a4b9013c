//! Dependencies between tasks. A cycle is an error when the task is written, because its tasks would never become
//! ready.
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::TaskStatus;

/// Why the dependencies of a task are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DependencyError {
    #[error("task {task} depends on {unknown}, which does not exist")]
    UnknownTask { task: String, unknown: String },
    #[error("task {} depends on itself: {}", .cycle.first().map_or("", String::as_str), .cycle.join(" → "))]
    Cycle { cycle: Vec<String> },
}

/// Finds a dependency on an unknown task, or a cycle. `tasks` are all tasks and their dependencies.
#[must_use]
pub fn find_dependency_error<'a>(tasks: impl IntoIterator<Item = (&'a str, &'a [String])>) -> Option<DependencyError> {
    let edges: BTreeMap<&str, &[String]> = tasks.into_iter().collect();
    let unknown = edges.iter().find_map(|(task, on)| {
        let unknown = on.iter().find(|on| !edges.contains_key(on.as_str()))?;
        Some(DependencyError::UnknownTask { task: (*task).to_owned(), unknown: unknown.clone() })
    });
    unknown.or_else(|| find_cycle(&edges).map(|cycle| DependencyError::Cycle { cycle }))
}

/// Walks every chain once. Iterative, because a chain may be as long as the task list.
fn find_cycle(edges: &BTreeMap<&str, &[String]>) -> Option<Vec<String>> {
    let mut visited: BTreeSet<&str> = BTreeSet::new();
    for start in edges.keys() {
        let mut path: Vec<(&str, usize)> = Vec::from([(*start, 0)]);
        let mut on_path: BTreeSet<&str> = BTreeSet::from([*start]);
        while let Some((task, next)) = path.pop() {
            let on = edges.get(task).and_then(|on| on.get(next)).map(String::as_str);
            match on {
                None => {
                    visited.insert(task);
                    on_path.remove(task);
                }
                Some(on) if on_path.contains(on) => {
                    path.push((task, next));
                    return Some(cycle_from(&path, on));
                }
                Some(on) => {
                    path.push((task, next + 1));
                    if !visited.contains(on) {
                        path.push((on, 0));
                        on_path.insert(on);
                    }
                }
            }
        }
    }
    None
}

/// Returns the part of a path that forms a cycle.
fn cycle_from(path: &[(&str, usize)], on: &str) -> Vec<String> {
    let cycle = path.iter().map(|(task, _)| *task).skip_while(|task| *task != on);
    cycle.chain([on]).map(ToOwned::to_owned).collect()
}

/// Returns the dependencies that are not done.
#[must_use]
pub fn unmet_dependencies(dependencies: &[String], status_of: impl Fn(&str) -> Option<TaskStatus>) -> Vec<&str> {
    let is_unmet = |on: &&str| status_of(on) != Some(TaskStatus::Done);
    dependencies.iter().map(String::as_str).filter(is_unmet).collect()
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;

    fn dependency_error_in(tasks: &[(&str, &[&str])]) -> Option<DependencyError> {
        let owned: Vec<(&str, Vec<String>)> =
            tasks.iter().map(|(id, on)| (*id, on.iter().map(ToString::to_string).collect())).collect();
        find_dependency_error(owned.iter().map(|(id, on)| (*id, on.as_slice())))
    }

    // spec: T5
    #[test]
    fn tasks_may_depend_on_later_tasks_and_share_dependencies() {
        assert_eq!(dependency_error_in(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"]), ("d", &[])]), None);
    }

    // spec: T5
    #[test]
    fn a_dependency_on_an_unknown_task_is_reported() {
        let found = dependency_error_in(&[("a", &["b"])]).unwrap();
        assert_eq!(found.to_string(), "task a depends on b, which does not exist");
    }

    // spec: T5
    #[test]
    fn a_cycle_is_reported_in_order() {
        let found = dependency_error_in(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"]), ("d", &[])]).unwrap();
        assert_eq!(found.to_string(), "task b depends on itself: b → c → b");
        assert_eq!(dependency_error_in(&[("a", &["a"])]).unwrap().to_string(), "task a depends on itself: a → a");
    }

    // spec: T5
    #[test]
    fn a_chain_of_ten_thousand_tasks_is_walked() {
        let ids: Vec<String> = (0..10_000).map(|number| format!("t{number:05}")).collect();
        let on: Vec<Vec<String>> = ids.iter().skip(1).map(|id| Vec::from([id.clone()])).collect();
        let tasks = ids.iter().map(String::as_str).zip(on.iter().map(Vec::as_slice).chain([[].as_slice()]));
        assert_eq!(find_dependency_error(tasks), None);
        let last = Vec::from([ids[0].clone()]);
        let closed = on.iter().map(Vec::as_slice).chain([last.as_slice()]);
        let found = find_dependency_error(ids.iter().map(String::as_str).zip(closed));
        assert!(matches!(found, Some(DependencyError::Cycle { cycle }) if cycle.len() == 10_001));
    }

    // spec: T5
    #[test]
    fn dependencies_that_are_not_done_are_unmet() {
        let on = ["a", "b", "c"].map(ToString::to_string);
        let status = |id: &str| if id == "a" { Some(TaskStatus::Done) } else { Some(TaskStatus::Qa) };
        assert_eq!(unmet_dependencies(&on, status), ["b", "c"]);
    }
}
