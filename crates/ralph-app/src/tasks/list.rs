//! Lists tasks, the most urgent first, then the oldest.
use std::collections::BTreeMap;

use ralph_core::task::{TaskStatus, unmet_dependencies};
use ralph_engine::project::Project;
use ralph_store::{TaskListItem, TaskPageFilter};

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

/// A page of tasks.
#[derive(Debug, Clone, Default)]
pub struct TaskPage {
    pub tasks: Vec<ListedTask>,
    /// What `after` is for the next page; `None` on the last page.
    pub next: Option<String>,
    /// How many tasks the project has.
    pub total: usize,
}

/// Returns a page of the tasks that the filter selects. `after` is the id of the last task of the page before.
pub async fn load_task_page(
    project: &Project,
    filter: &TaskListFilter,
    after: Option<String>,
    limit: u32,
) -> AppResult<TaskPage> {
    if filter.ready_only {
        return Ok(cut_page(list_tasks(project, filter).await?, after.as_deref(), limit as usize));
    }
    let Some(store) = open_existing_store(project).await? else { return Ok(TaskPage::default()) };
    // One more than is shown tells whether there are more.
    let (statuses, spec) = (filter.statuses.clone(), filter.spec.clone());
    let page = TaskPageFilter { after, statuses, spec, limit: limit.saturating_add(1) };
    let mut items = store.page_of_tasks(&page).await?;
    let has_more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let dependencies: Vec<String> = items.iter().flat_map(|item| item.dependencies.iter().cloned()).collect();
    let done = store.done_tasks_among(&dependencies).await?;
    let total = store.count_tasks().await?;
    store.close().await;
    let next = items.last().filter(|_| has_more).map(|last| last.id.clone());
    let status_of = |id: &str| done.iter().any(|task| task == id).then_some(TaskStatus::Done);
    let list_item = |item: TaskListItem| {
        let waits_for = unmet_dependencies(&item.dependencies, status_of).into_iter().map(str::to_owned).collect();
        ListedTask { item, waits_for }
    };
    Ok(TaskPage { tasks: items.into_iter().map(list_item).collect(), next, total })
}

/// Returns a page of a whole list.
fn cut_page(list: TaskList, after: Option<&str>, limit: usize) -> TaskPage {
    let TaskList { mut tasks, total } = list;
    if let Some(after) = after {
        let first = tasks.iter().position(|task| task.item.id == after).map_or(tasks.len(), |at| at + 1);
        tasks.drain(..first);
    }
    let has_more = tasks.len() > limit;
    tasks.truncate(limit);
    let next = tasks.last().filter(|_| has_more).map(|last| last.item.id.clone());
    TaskPage { tasks, next, total }
}
