//! The list of tasks.
use askama::Template;
use axum::extract::Query;
use ralph_app::tasks::{ListedTask, TaskListFilter, list_tasks};
use ralph_core::task::TaskStatus;
use serde::Deserialize;

use crate::pages::display::{DisplayText, DisplayTime, StatusMark, path_segment};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, render};

const PAGE_SIZE: usize = 100;

#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pages) struct TaskQuery {
    status: Option<String>,
    spec: Option<String>,
    page: Option<usize>,
}

struct TaskLine {
    href: String,
    id: DisplayText,
    title: DisplayText,
    mark: StatusMark,
    spec: DisplayText,
    priority: u32,
    waits_for: DisplayText,
    position: DisplayText,
    proof: Option<StatusMark>,
    updated: DisplayTime,
}

struct StatusChoice {
    value: &'static str,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "tasks.html")]
struct TasksPage {
    frame: PageFrame,
    tasks: Vec<TaskLine>,
    statuses: Vec<StatusChoice>,
    spec: DisplayText,
    total: usize,
    found: usize,
    previous_href: Option<String>,
    next_href: Option<String>,
}

pub(in crate::pages) async fn show_tasks(request: PageRequest, Query(query): Query<TaskQuery>) -> PageResult {
    let status = query.status.as_deref().and_then(TaskStatus::parse);
    let spec = query.spec.clone().filter(|spec| !spec.trim().is_empty());
    let filter = TaskListFilter { statuses: status.into_iter().collect(), spec, ready_only: false };
    let list = list_tasks(&request.context.project, &filter).await;
    let list = list.map_err(|error| PageError::from_app_error(&request.context, &error))?;
    let page = query.page.unwrap_or(0);
    let shown = list.tasks.iter().skip(page.saturating_mul(PAGE_SIZE)).take(PAGE_SIZE);
    let href = |page: usize| {
        let status = status.map_or("", TaskStatus::as_str);
        format!("/tasks?status={status}&spec={}&page={page}", path_segment(filter.spec.as_deref().unwrap_or("")))
    };
    let heading = PageHeading { title: "Tasks", nav: NavPage::Tasks, api: "/api/tasks".to_owned() };
    Ok(render(&TasksPage {
        tasks: shown.map(TaskLine::new).collect(),
        statuses: TaskStatus::ALL
            .map(|choice| StatusChoice { value: choice.as_str(), is_chosen: Some(choice) == status })
            .into(),
        spec: filter.spec.as_deref().map(DisplayText::new).unwrap_or_default(),
        total: list.total,
        found: list.tasks.len(),
        previous_href: page.checked_sub(1).map(href),
        next_href: (list.tasks.len() > page.saturating_add(1).saturating_mul(PAGE_SIZE)).then(|| href(page + 1)),
        frame: PageFrame::load(&request, heading).await?,
    }))
}

impl TaskLine {
    fn new(task: &ListedTask) -> Self {
        let item = &task.item;
        let position = item.run.as_ref().map(|run| format!("{} {}/{}", run.role, run.iterations, run.max_iterations));
        Self {
            href: format!("/tasks/{}", path_segment(&item.id)),
            id: DisplayText::new(&item.id),
            title: DisplayText::first_line(&item.title, 160),
            mark: StatusMark::new(item.status.as_str()),
            spec: item.spec.as_deref().map(DisplayText::new).unwrap_or_default(),
            priority: item.priority,
            waits_for: DisplayText::new(task.blockers().join(", ")),
            position: position.map(DisplayText::from).unwrap_or_default(),
            proof: item.proof.as_deref().map(StatusMark::new),
            updated: DisplayTime::new(item.updated_at),
        }
    }
}
