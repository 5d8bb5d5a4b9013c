//! The page of a run: the decision first, then its iterations as cells, as a timeline, or its journal.
use askama::Template;
use axum::extract::{Path, Query};
use ralph_app::error::AppError;
use ralph_app::overview::{cost_limit_of_run, last_output_at, load_run_journal};
use ralph_app::run::load_run_view;
use ralph_app::view::{RunView, format_tokens, run_title, short_id};
use ralph_app::why::explain_decision;
use ralph_engine::run_driver::Clock;
use serde::Deserialize;

use super::cells::{CriterionRow, IterationCell};
use super::failure::DecisionSummary;
use super::journal::JournalLine;
use super::timeline::draw_run_timeline;
use crate::pages::controls::Controls;
use crate::pages::display::{DisplayText, DisplayTime, StatusMark, path_segment, short_cost, without_status};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, ProjectState, render};
use crate::pages::home::{InboxEntry, stage_text};
use crate::pages::run_table::status_of_run;
use crate::pages::shown_decision::load_entries;
use crate::pages::timeline::Timeline;

const EVENTS_PER_PAGE: u32 = 200;
/// A timeline is drawn of at most this many events.
const MAX_TIMELINE_EVENTS: u32 = 20_000;

#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pages) struct RunPageQuery {
    view: Option<String>,
    after: Option<i64>,
}

/// The zooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunZoom {
    Cells,
    Timeline,
    Journal,
}

impl RunZoom {
    fn parse(name: Option<&str>) -> Self {
        match name {
            Some("timeline") => Self::Timeline,
            Some("journal") => Self::Journal,
            Some(_) | None => Self::Cells,
        }
    }
}

/// The content of the page in the chosen zoom.
enum ZoomedView {
    Cells { cells: Vec<IterationCell>, criteria: Vec<CriterionRow>, numbers: Vec<i64> },
    Timeline(Timeline),
    Journal { lines: Vec<JournalLine>, next_after: Option<i64>, is_first: bool },
}

/// The facts about a run beside its decision.
struct RunFacts {
    id: DisplayText,
    href: String,
    task: Option<RunTask>,
    kind: DisplayText,
    agent: DisplayText,
    stage: DisplayText,
    started: DisplayTime,
    ended: Option<DisplayTime>,
    last_output: Option<DisplayTime>,
    cost: String,
    cost_limit: Option<String>,
    tokens: String,
    proof: Option<DisplayText>,
    receipt: Option<DisplayText>,
    logs: DisplayText,
    standing_guidance: Vec<DisplayText>,
}

/// The task that a run is a stage of.
struct RunTask {
    href: String,
    id: DisplayText,
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: PageFrame,
    title: DisplayText,
    headline: DisplayText,
    short: DisplayText,
    status: StatusMark,
    facts: RunFacts,
    decision: DecisionSummary,
    controls: Controls,
    waiting: Vec<InboxEntry>,
    zoom: RunZoom,
    zoomed: ZoomedView,
}

impl RunPage {
    fn is_zoom(&self, zoom: &str) -> bool {
        self.zoom == RunZoom::parse(Some(zoom))
    }
}

pub(in crate::pages) async fn show_run(
    request: PageRequest,
    Path(id): Path<String>,
    Query(query): Query<RunPageQuery>,
) -> PageResult {
    let page = load_run_page(&request, &id, &query).await;
    let page = page.map_err(|error| PageError::from_app_error(&request.context, &error))?;
    Ok(render(&page))
}

async fn load_run_page(request: &PageRequest, part: &str, query: &RunPageQuery) -> Result<RunPage, AppError> {
    let context = &request.context;
    let project = &context.project;
    let view = load_run_view(project, Some(part)).await?;
    let id = view.id().to_owned();
    let why = explain_decision(project, Some(&id), None).await?;
    let state = ProjectState::load(context).await?;
    let status = live_status(&state, &view);
    let zoom = RunZoom::parse(query.view.as_deref());
    let zoomed = load_zoom(request, &view, zoom, query.after.unwrap_or(0)).await?;
    let is_this = |item: &&ralph_app::inbox::InboxItem| item.run.as_deref() == Some(&id);
    let waiting = load_entries(context, state.inbox.iter().filter(is_this)).await;
    let controls = match (view.row().status.as_str(), &status) {
        ("running" | "interrupted", Some(word)) => Controls::for_active_run(&id, word),
        ("interrupted", None) if view.row().task.is_none() => Controls::for_interrupted_run(&id),
        (_, _) => Controls::default(),
    };
    let title = run_title(view.row());
    let name = format!("{title} · {}", short_id(&id));
    let heading = PageHeading { title: &name, nav: NavPage::Runs, api: format!("/api/runs/{}", path_segment(&id)) };
    Ok(RunPage {
        title: DisplayText::first_line(&title, 160),
        headline: DisplayText::new(without_status(view.headline())),
        short: DisplayText::new(short_id(&id)),
        status: status.map_or_else(|| status_of_run(view.row()), |word| StatusMark::new(&word)),
        facts: RunFacts::new(request, &view),
        decision: DecisionSummary::new(project, &view, &why),
        controls,
        waiting,
        zoom,
        zoomed,
        frame: PageFrame::new(request, &state, heading),
    })
}

/// Returns what a run that has not ended does; `None` if it has ended.
fn live_status(state: &ProjectState, view: &RunView) -> Option<String> {
    use ralph_app::view::ActiveWork;
    state.work.iter().find_map(|work| match work {
        ActiveWork::Loop(active) if active.id() == view.id() => Some(active.status_word().to_owned()),
        ActiveWork::Loop(_) | ActiveWork::SettingUp(_) | ActiveWork::Worker(_) => None,
    })
}

async fn load_zoom(request: &PageRequest, view: &RunView, zoom: RunZoom, after: i64) -> Result<ZoomedView, AppError> {
    let project = &request.context.project;
    Ok(match zoom {
        RunZoom::Cells => ZoomedView::Cells {
            cells: IterationCell::list(view),
            criteria: CriterionRow::list(view),
            numbers: view.iterations().iter().map(|iteration| iteration.number).collect(),
        },
        RunZoom::Timeline => {
            let journal = load_run_journal(project, view.id(), 0, MAX_TIMELINE_EVENTS).await?;
            let now = view.row().ended_at.unwrap_or(Clock::wall_now().0);
            ZoomedView::Timeline(draw_run_timeline(view.id(), &journal, now))
        }
        RunZoom::Journal => {
            let after = after.max(0);
            let mut journal = load_run_journal(project, view.id(), after, EVENTS_PER_PAGE + 1).await?;
            let has_more = journal.len() > EVENTS_PER_PAGE as usize;
            journal.truncate(EVENTS_PER_PAGE as usize);
            let next_after = journal.last().map(|entry| entry.seq).filter(|_| has_more);
            let lines = journal.iter().map(JournalLine::new).collect();
            ZoomedView::Journal { lines, next_after, is_first: after == 0 }
        }
    })
}

impl RunFacts {
    fn new(request: &PageRequest, view: &RunView) -> Self {
        let run = view.row();
        let is_open = run.ended_at.is_none();
        let output = last_output_at(&request.context.project, &run.id).filter(|_| is_open);
        let limit = cost_limit_of_run(run).and_then(|limit| i64::try_from(limit).ok());
        Self {
            id: DisplayText::new(&run.id),
            href: format!("/runs/{}", path_segment(&run.id)),
            task: run
                .task
                .as_ref()
                .map(|task| RunTask { href: format!("/tasks/{}", path_segment(task)), id: DisplayText::new(task) }),
            kind: DisplayText::new(&run.kind),
            agent: DisplayText::new(&run.agent),
            stage: DisplayText::new(stage_text(run)),
            started: DisplayTime::new(run.started_at),
            ended: run.ended_at.map(DisplayTime::new),
            last_output: output.map(DisplayTime::new),
            cost: short_cost(run.cost_micros),
            cost_limit: limit.map(|limit| short_cost(Some(limit))),
            tokens: format_tokens(run.input_tokens, run.output_tokens).unwrap_or_default(),
            proof: view.proof().map(|proof| DisplayText::new(proof.describe())),
            receipt: view.receipt_line().map(DisplayText::from),
            logs: DisplayText::new(view.logs_folder().display().to_string()),
            standing_guidance: view.standing_guidance().iter().map(DisplayText::from).collect(),
        }
    }
}
