//! Whether tasks that were read fit together, and to those that are there already. All of them, or none.
use std::collections::BTreeMap;

use ralph_core::task::{DependencyError, find_dependency_error};

use super::{ParsedTask, TaskError};

/// Holds new tasks against each other and against the ids and dependencies that are there.
pub fn check_consistency(new: &[ParsedTask], existing: &[(String, Vec<String>)]) -> Result<(), TaskError> {
    let known: BTreeMap<&str, ()> = existing.iter().map(|(id, _)| (id.as_str(), ())).collect();
    let mut read: BTreeMap<&str, &ParsedTask> = BTreeMap::new();
    for task in new {
        let id = task.task.id.as_str();
        if known.contains_key(id) {
            let what = format!("id: there is a task {id} already");
            return Err(TaskError::new(task.origin.task_place(), &what)
                .with_hint(format!("change it with `ralph task edit {id}`")));
        }
        if let Some(first) = read.insert(id, task) {
            let what = format!("id: {id} stands here twice, first at {}", first.origin.task_place());
            return Err(TaskError::new(task.origin.task_place(), &what).with_hint("give each task an id of its own"));
        }
    }
    let old = existing.iter().map(|(id, on)| (id.as_str(), on.as_slice()));
    let all = old.chain(new.iter().map(|read| (read.task.id.as_str(), read.task.dependencies())));
    find_dependency_error(all).map_or(Ok(()), |knot| Err(dependency_error(&knot, &read)))
}

/// Says at which dependency the knot is.
fn dependency_error(knot: &DependencyError, parsed: &BTreeMap<&str, &ParsedTask>) -> TaskError {
    let (task, on) = match knot {
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
    let hint = match knot {
        DependencyError::UnknownTask { .. } => {
            "name a task of this file or of the project; `ralph task list` lists them"
        }
        DependencyError::Cycle { .. } => "take one of these dependencies out",
    };
    TaskError::new(place.unwrap_or_else(|| task.to_owned()), &format!("dependencies: {knot}")).with_hint(hint)
}
