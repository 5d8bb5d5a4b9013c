//! The page of one task: why it is where it is, what done means, and the criteria of every iteration of every run.
use askama::Template;
use axum::extract::Path;
use ralph_app::error::AppError;
use ralph_app::task_files::find_task;
use ralph_app::tasks::load_task_view;
use ralph_app::view::RunView;
use ralph_app::why::explain_decision;
use ralph_core::task::TaskStatus;

use crate::pages::controls::{Controls, OrderButton, OrderForm};
use crate::pages::display::{DisplayText, DisplayTime, StatusMark, path_segment, without_status};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, ProjectState, render};
use crate::pages::home::InboxEntry;
use crate::pages::run::cells::{CriterionRow, IterationCell};
use crate::pages::run_table::RunLine;
use crate::pages::shown_decision::load_entries;

/// A run of the task.
struct StageSection {
    run: RunLine,
    headline: DisplayText,
    cells: Vec<IterationCell>,
    criteria: Vec<CriterionRow>,
}

struct Dependency {
    href: String,
    id: DisplayText,
    mark: StatusMark,
}

struct RoleText {
    role: DisplayText,
    text: DisplayText,
}

#[derive(Template)]
#[template(path = "task.html")]
struct TaskPage {
    frame: PageFrame,
    id: DisplayText,
    title: DisplayText,
    mark: StatusMark,
    headline: DisplayText,
    rule: DisplayText,
    sentence: &'static str,
    evidence: Vec<DisplayText>,
    description: DisplayText,
    outcome: DisplayText,
    acceptance: Vec<DisplayText>,
    roles: Vec<RoleText>,
    dependencies: Vec<Dependency>,
    priority: u32,
    spec: DisplayText,
    created: DisplayTime,
    proof: Option<StatusMark>,
    runs: Vec<StageSection>,
    waiting: Vec<InboxEntry>,
    deferral: Option<StartProblem>,
    controls: Controls,
}

/// Why the worker of this server could not start the task.
struct StartProblem {
    reason: DisplayText,
    since: DisplayTime,
}

pub(in crate::pages) async fn show_task(request: PageRequest, Path(id): Path<String>) -> PageResult {
    let page = load_task_page(&request, &id).await;
    Ok(render(&page.map_err(|error| PageError::from_app_error(&request.context, &error))?))
}

async fn load_task_page(request: &PageRequest, id: &str) -> Result<TaskPage, AppError> {
    let context = &request.context;
    let project = &context.project;
    let found = find_task(project, id).await?;
    let settings = context.config.load_settings(Some(project)).unwrap_or_default();
    let view = load_task_view(project, found, &settings).await?;
    let why = explain_decision(project, Some(id), None).await?;
    let state = ProjectState::load(context).await?;
    let row = view.row();
    let task = &row.task;
    let heading = PageHeading {
        title: &format!("{} {}", task.id, task.title),
        nav: NavPage::Tasks,
        api: format!("/api/tasks/{}", path_segment(&task.id)),
    };
    let texts = |texts: &[String]| texts.iter().map(|text| DisplayText::new(text.trim())).collect();
    let is_this = |item: &&ralph_app::inbox::InboxItem| item.task.as_deref() == Some(&task.id);
    Ok(TaskPage {
        id: DisplayText::new(&task.id),
        title: DisplayText::first_line(&task.title, 200),
        mark: StatusMark::new(task.status.as_str()),
        headline: DisplayText::new(without_status(&why.explained.headline)),
        rule: DisplayText::new(why.explained.rule.label()),
        sentence: why.explained.rule.sentence(),
        evidence: why.explained.evidence.iter().map(|line| DisplayText::new(&line.text)).collect(),
        description: task.description.as_deref().map(DisplayText::new).unwrap_or_default(),
        outcome: task.completion.as_ref().map(|spec| DisplayText::new(&spec.outcome)).unwrap_or_default(),
        acceptance: task.completion.as_ref().map(|spec| texts(&spec.acceptance_criteria)).unwrap_or_default(),
        roles: view
            .role_texts()
            .into_iter()
            .map(|(role, text)| RoleText { role: role.into(), text: text.into() })
            .collect(),
        dependencies: view.dependencies().iter().map(Dependency::new).collect(),
        priority: task.priority(),
        spec: task.spec_id.as_deref().map(DisplayText::new).unwrap_or_default(),
        created: DisplayTime::new(row.created_at),
        proof: row.proof.as_deref().map(StatusMark::new),
        runs: view.runs().iter().rev().map(StageSection::new).collect(),
        waiting: load_entries(context, state.inbox.iter().filter(is_this)).await,
        deferral: context
            .driver
            .deferrals()
            .find(&task.id)
            .filter(|_| !matches!(task.status, TaskStatus::Done | TaskStatus::Cancelled))
            .map(|found| StartProblem { reason: found.reason.into(), since: DisplayTime::new(found.since) }),
        controls: task_controls(&task.id, task.status),
        frame: PageFrame::new(request, &state, heading),
    })
}

fn task_controls(id: &str, status: TaskStatus) -> Controls {
    let path = format!("/api/tasks/{}", path_segment(id));
    let order = |label: &str, order: &str, done| {
        OrderButton::new(label, format!("{path}/{order}"), &serde_json::json!({}), done)
    };
    let retry = order("Retry", "retry", "The task is ready again.");
    let cancel = order("Cancel", "cancel", "The task is cancelled.").danger("Cancel this task?");
    let guide = OrderForm::new("Guide", format!("{path}/guide"), "words", "guidance for the next prompt");
    let guide = guide.with_done("The guidance is in the next prompt.");
    match status {
        TaskStatus::Done => Controls::default(),
        TaskStatus::Cancelled => Controls { buttons: vec![retry], ..Controls::default() },
        TaskStatus::Blocked => Controls { buttons: vec![retry, cancel], forms: vec![guide], ..Controls::default() },
        TaskStatus::Todo | TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => {
            Controls { buttons: vec![cancel], forms: vec![guide], ..Controls::default() }
        }
    }
}

impl Dependency {
    fn new((id, status): &(String, Option<TaskStatus>)) -> Self {
        Self {
            href: format!("/tasks/{}", path_segment(id)),
            id: DisplayText::new(id),
            mark: StatusMark::new(status.map_or("deleted", TaskStatus::as_str)),
        }
    }
}

impl StageSection {
    fn new(view: &RunView) -> Self {
        Self {
            run: RunLine::new(view.row()),
            headline: DisplayText::new(without_status(view.headline())),
            cells: IterationCell::list(view),
            criteria: CriterionRow::list(view),
        }
    }
}
