//! The frame of every page: its heading, the state of the session, and a summary of the project.
use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{Html, IntoResponse, Response};
use ralph_app::control::ActiveWorkReader;
use ralph_app::error::AppError;
use ralph_app::inbox::{InboxItem, InboxKind, list_inbox};
use ralph_app::overview::{SpendingSummary, load_spending};
use ralph_app::view::ActiveWork;
use ralph_app::workflow_runs::list_active_workflow_runs;
use ralph_core::event::UnixMillis;
use ralph_engine::run_driver::Clock;
use ralph_store::WorkflowRunRow;

use super::assets::asset_version;
use super::display::{DisplayText, DisplayTime, path_segment, short_cost};
use super::home::position_text;
use crate::context::{ServerContext, SharedContext};
use crate::problem::Problem;
use crate::security::SessionState;

/// How old a problem may be to be named in the summary.
const MAX_PROBLEM_AGE_MS: i64 = 7 * 86_400_000;
const MAX_SUMMARY_CHARS: usize = 110;

/// A request for a page.
pub(super) struct PageRequest {
    pub(super) context: SharedContext,
    pub(super) session: SessionState,
}

impl FromRequestParts<SharedContext> for PageRequest {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, context: &SharedContext) -> Result<Self, Self::Rejection> {
        let session = parts.extensions.get::<SessionState>().cloned().unwrap_or_default();
        Ok(Self { context: context.clone(), session })
    }
}

/// The pages of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NavPage {
    Home,
    Board,
    Runs,
    Tasks,
    Workflows,
    Stats,
    Start,
}

impl NavPage {
    const ALL: [(Self, &'static str, &'static str); 7] = [
        (Self::Home, "/", "Home"),
        (Self::Board, "/board", "Board"),
        (Self::Runs, "/runs", "Runs"),
        (Self::Tasks, "/tasks", "Tasks"),
        (Self::Workflows, "/workflows", "Workflows"),
        (Self::Stats, "/stats", "Statistics"),
        (Self::Start, "/start", "Start"),
    ];
}

pub(super) struct NavLink {
    pub(super) href: &'static str,
    pub(super) label: &'static str,
    pub(super) is_current: bool,
}

/// The active loops, the inbox and the cost of the project at this moment.
pub(super) struct ProjectState {
    pub(super) work: Vec<ActiveWork>,
    pub(super) workflows: Vec<WorkflowRunRow>,
    pub(super) inbox: Vec<InboxItem>,
    pub(super) spending: SpendingSummary,
}

impl ProjectState {
    pub(super) async fn load(context: &ServerContext) -> Result<Self, AppError> {
        let project = &context.project;
        let settings = context.config.load_settings(Some(project)).unwrap_or_default();
        Ok(Self {
            work: ActiveWorkReader::new(project).read().await?,
            workflows: list_active_workflow_runs(project).await?,
            inbox: list_inbox(project).await?,
            spending: load_spending(project, &settings).await?,
        })
    }
}

/// A text that leads to a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageLink {
    pub(super) href: String,
    pub(super) text: DisplayText,
}

/// The first line of every page.
pub(super) struct Answers {
    pub(super) running: Vec<PageLink>,
    pub(super) waiting: usize,
    pub(super) cost_today: String,
    pub(super) cost_week: String,
    pub(super) problem: Option<PageLink>,
}

impl Answers {
    fn new(state: &ProjectState) -> Self {
        let spent = |micros: Option<u64>, runs: u64| match (micros, runs) {
            (None, 0) => "$0.00".to_owned(),
            (micros, _) => short_cost(micros.and_then(|micros| i64::try_from(micros).ok())),
        };
        let SpendingSummary { today, week, .. } = &state.spending;
        Self {
            running: running_links(state),
            waiting: state.inbox.len(),
            cost_today: spent(today.totals.spent.cost_micros, today.totals.runs),
            cost_week: spent(week.totals.spent.cost_micros, week.totals.runs),
            problem: newest_problem(&state.inbox, Clock::wall_now()),
        }
    }
}

fn running_links(state: &ProjectState) -> Vec<PageLink> {
    let loops = state.work.iter().filter_map(|work| match work {
        ActiveWork::Loop(view) if !matches!(view.status_word(), "died" | "parked" | "paused") => Some(PageLink {
            href: format!("/runs/{}", path_segment(view.id())),
            text: DisplayText::new(position_text(view.run())),
        }),
        ActiveWork::Loop(_) | ActiveWork::Worker(_) => None,
        ActiveWork::SettingUp(task) => Some(PageLink {
            href: format!("/tasks/{}", path_segment(&task.task_id)),
            text: DisplayText::new(format!("{}: setting up", task.task_id)),
        }),
    });
    let workflows = state.workflows.iter().filter(|run| run.status == "running" && run.parent.is_none());
    let workflows = workflows.map(|run| PageLink {
        href: format!("/workflow-runs/{}", path_segment(&run.id)),
        text: DisplayText::new(format!("workflow {}", run.workflow)),
    });
    loops.chain(workflows).collect()
}

/// Returns the newest item of the inbox that says that something went wrong.
fn newest_problem(inbox: &[InboxItem], now: UnixMillis) -> Option<PageLink> {
    let is_recent = |item: &&InboxItem| item.since.is_some_and(|since| since.0 >= now.0 - MAX_PROBLEM_AGE_MS);
    let problems = inbox.iter().filter(|item| is_problem(item.kind)).filter(is_recent);
    let newest = problems.max_by_key(|item| item.since.map_or(0, |since| since.0))?;
    let href = match (&newest.run, &newest.task) {
        (Some(run), _) => format!("/runs/{}", path_segment(run)),
        (None, Some(task)) => format!("/tasks/{}", path_segment(task)),
        (None, None) => "/#inbox".to_owned(),
    };
    let text = DisplayText::first_line(format!("{}: {}", newest.id, newest.reason), MAX_SUMMARY_CHARS);
    Some(PageLink { href, text })
}

fn is_problem(kind: InboxKind) -> bool {
    match kind {
        InboxKind::ChangedTests
        | InboxKind::CouldNotEvaluate
        | InboxKind::Blocked
        | InboxKind::Stalled
        | InboxKind::Exhausted
        | InboxKind::Failed
        | InboxKind::OverBudget
        | InboxKind::Interrupted
        | InboxKind::Died => true,
        InboxKind::CommandApproval
        | InboxKind::CheckApproval
        | InboxKind::WorkflowQuestion
        | InboxKind::Question
        | InboxKind::Paused
        | InboxKind::NotLanded => false,
    }
}

/// The heading of a page.
pub(super) struct PageHeading<'a> {
    pub(super) title: &'a str,
    pub(super) nav: NavPage,
    /// The address of the same as JSON.
    pub(super) api: String,
}

/// The parts of a page that do not depend on its content.
pub(super) struct PageFrame {
    pub(super) title: DisplayText,
    pub(super) project: DisplayText,
    nav: NavPage,
    pub(super) api: String,
    pub(super) csrf: String,
    pub(super) assets: &'static str,
    pub(super) answers: Answers,
    pub(super) rendered_at: DisplayTime,
}

impl PageFrame {
    pub(super) fn new(request: &PageRequest, state: &ProjectState, heading: PageHeading<'_>) -> Self {
        let root = &request.context.project.root;
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self {
            title: DisplayText::first_line(heading.title, MAX_SUMMARY_CHARS),
            project: DisplayText::new(name),
            nav: heading.nav,
            api: heading.api,
            csrf: request.session.csrf_token.clone().unwrap_or_default(),
            assets: asset_version(),
            answers: Answers::new(state),
            rendered_at: DisplayTime::new(Clock::wall_now().0),
        }
    }

    /// Loads the state of the project for a page that shows nothing else of it.
    pub(super) async fn load(request: &PageRequest, heading: PageHeading<'_>) -> Result<Self, PageError> {
        let state = ProjectState::load(&request.context).await;
        let state = state.map_err(|error| PageError::from_app_error(&request.context, &error))?;
        Ok(Self::new(request, &state, heading))
    }

    /// A frame of a project in which nothing has happened. `csrf` says whether the reader may give orders.
    #[cfg(test)]
    pub(super) fn sample(csrf: &str) -> Self {
        let answers = Answers {
            running: Vec::new(),
            waiting: 0,
            cost_today: "$0.00".to_owned(),
            cost_week: "$0.00".to_owned(),
            problem: None,
        };
        let time = |text: &str| text.to_owned();
        Self {
            title: "Sample".into(),
            project: "shop".into(),
            nav: NavPage::Home,
            api: "/api/inbox".to_owned(),
            csrf: csrf.to_owned(),
            assets: "0",
            answers,
            rendered_at: DisplayTime {
                iso: time("iso"),
                clock: time("08:00"),
                full: time("today"),
                ago: time("0s ago"),
            },
        }
    }

    pub(super) fn links(&self) -> Vec<NavLink> {
        let link = |(page, href, label)| NavLink { href, label, is_current: page == self.nav };
        NavPage::ALL.map(link).into()
    }

    /// Whether the reader may give orders.
    pub(super) fn can_order(&self) -> bool {
        !self.csrf.is_empty()
    }
}

/// An error that is shown as a page.
pub(super) struct PageError(Box<Problem>);

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    assets: &'static str,
    title: DisplayText,
    detail: DisplayText,
    hints: Vec<DisplayText>,
}

impl PageError {
    pub(super) fn from_app_error(context: &ServerContext, error: &AppError) -> Self {
        Self(Box::new(Problem::from_app_error(context, error)))
    }

    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(status, detail)))
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let Problem { title, status, detail, hints, .. } = *self.0;
        // The API reports a request that cannot be carried out with 422; for pages it means that the page does not exist.
        let status = if status == StatusCode::UNPROCESSABLE_ENTITY.as_u16() { 404 } else { status };
        let title = if status == 404 { "Not found".to_owned() } else { title };
        let page = ErrorPage {
            assets: asset_version(),
            title: title.into(),
            detail: detail.into(),
            hints: hints.into_iter().map(DisplayText::from).collect(),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, render(&page)).into_response()
    }
}

/// Renders a page.
pub(super) fn render(page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => Html(html).into_response(),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("the page cannot be rendered: {error}")).into_response()
        }
    }
}

pub(super) type PageResult = Result<Response, PageError>;
