//! Lists tasks, the most urgent first, then the oldest.
use std::collections::BTreeMap;

use ralph_core::task::{TaskStatus, unmet_dependencies};
use ralph_engine::project::Project;
use ralph_store::TaskListItem;

use crate::error::AppResult;
use crate::run::open_existing_store;
use crate::view::is_task_ready;

#[derive(Debug, Clone, Default)]
pub struct TaskListFilter {
    /// No status: every status.
    pub statuses: Vec<TaskStatus>,
    pub spec: Option<String>,
    /// Only tasks that are to do and wait for nothing.
    pub ready_only: bool,
}

impl TaskListFilter {
    fn selects(&self, task: &TaskListItem) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&task.status))
            && (self.spec.is_none() || self.spec == task.spec)
    }
}

#[derive(Debug, Clone)]
pub struct ListedTask {
    pub item: TaskListItem,
    /// Ids of dependencies that are not done.
    pub waits_for: Vec<String>,
}

impl ListedTask {
    /// Returns the ids of the dependencies that are not done.
    #[must_use]
    pub fn blockers(&self) -> Vec<&str> {
        self.waits_for.iter().map(String::as_str).collect()
    }
}

#[derive(Debug, Clone, Default)]
pub struct TaskList {
    pub tasks: Vec<ListedTask>,
    /// How many tasks the project has, with those that the filter leaves out.
    pub total: usize,
}

/// Returns the tasks that the filter selects.
pub async fn list_tasks(project: &Project, filter: &TaskListFilter) -> AppResult<TaskList> {
    let Some(store) = open_existing_store(project).await? else { return Ok(TaskList::default()) };
    let stored = store.list_tasks().await?;
    let total = stored.len();
    let statuses: BTreeMap<String, TaskStatus> = stored.iter().map(|task| (task.id.clone(), task.status)).collect();
    let mut tasks = Vec::new();
    for item in stored.into_iter().filter(|item| filter.selects(item)) {
        let blockers = unmet_dependencies(&item.dependencies, |id| statuses.get(id).copied());
        if filter.ready_only && !is_task_ready(&item, &blockers) {
            continue;
        }
        let waits_for = blockers.into_iter().map(str::to_owned).collect();
        tasks.push(ListedTask { item, waits_for });
    }
    Ok(TaskList { tasks, total })
}
