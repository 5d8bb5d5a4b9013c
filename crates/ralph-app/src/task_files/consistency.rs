//! Checks that imported tasks are consistent with each other and with the existing tasks.
use std::collections::BTreeMap;

use ralph_core::task::{DependencyError, find_dependency_error};

use super::{ParsedTask, TaskError};
use crate::advice::Advice;

/// Checks the new tasks for duplicate ids, unknown dependencies and cycles, together with the existing tasks.
pub fn check_consistency(new: &[ParsedTask], existing: &[(String, Vec<String>)]) -> Result<(), TaskError> {
    let known: BTreeMap<&str, ()> = existing.iter().map(|(id, _)| (id.as_str(), ())).collect();
    let mut new_by_id: BTreeMap<&str, &ParsedTask> = BTreeMap::new();
    for task in new {
        let id = task.task.id.as_str();
        if known.contains_key(id) {
            let message = format!("id: task {id} already exists");
            return Err(TaskError::new(task.origin.task_place(), &message)
                .with_hint(Advice::EditExistingTask { task: id.to_owned() }));
        }
        if let Some(first) = new_by_id.insert(id, task) {
            let message = format!("id: {id} occurs twice, first at {}", first.origin.task_place());
            return Err(TaskError::new(task.origin.task_place(), &message).with_hint("give each task a unique id"));
        }
    }
    let old = existing.iter().map(|(id, on)| (id.as_str(), on.as_slice()));
    let all = old.chain(new.iter().map(|read| (read.task.id.as_str(), read.task.dependencies())));
    find_dependency_error(all).map_or(Ok(()), |error| Err(dependency_error(&error, &new_by_id)))
}

/// Adds the position of the faulty dependency to the error.
fn dependency_error(error: &DependencyError, parsed: &BTreeMap<&str, &ParsedTask>) -> TaskError {
    let (task, on) = match error {
        DependencyError::UnknownTask { task, unknown } => (task.as_str(), unknown.as_str()),
        DependencyError::Cycle { cycle } => {
            let mut ids = cycle.iter().map(String::as_str);
            (ids.next().unwrap_or_default(), ids.next().unwrap_or_default())
        }
    };
    let place = parsed.get(task).and_then(|read| {
        let at = read.task.dependencies().iter().position(|id| id == on)?;
        Some(read.origin.field_place(&format!("dependencies.{at}")))
    });
    let hint = match error {
        DependencyError::UnknownTask { .. } => Advice::NameKnownTask,
        DependencyError::Cycle { .. } => Advice::from("remove one of these dependencies"),
    };
    TaskError::new(place.unwrap_or_else(|| task.to_owned()), &format!("dependencies: {error}")).with_hint(hint)
}
