//! Two runs side by side.
use askama::Template;
use axum::extract::Query;
use ralph_app::error::AppError;
use ralph_app::run::{RunPageRequest, load_run_page, load_run_view};
use ralph_app::view::{RunView, format_elapsed, run_title, short_id};
use serde::Deserialize;

use crate::pages::display::{DisplayText, StatusMark, path_segment, short_cost, without_status};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, render};
use crate::pages::run::cells::{CriterionRow, IterationCell};
use crate::pages::run_table::{RunLine, status_of_run};

/// How many runs can be chosen.
const CHOICE_COUNT: u32 = 50;

#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pages) struct CompareQuery {
    a: Option<String>,
    b: Option<String>,
}

/// One of the two runs.
struct ComparedRun {
    href: String,
    short: DisplayText,
    title: DisplayText,
    status: StatusMark,
    headline: DisplayText,
    agent: DisplayText,
    iterations: i64,
    claims: usize,
    rejected: usize,
    cost: String,
    took: String,
    proof: DisplayText,
    cells: Vec<IterationCell>,
    criteria: Vec<CriterionRow>,
}

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage {
    frame: PageFrame,
    choices: Vec<RunLine>,
    a: DisplayText,
    b: DisplayText,
    runs: Vec<ComparedRun>,
}

pub(in crate::pages) async fn show_comparison(request: PageRequest, Query(query): Query<CompareQuery>) -> PageResult {
    let to_page_error = |error: AppError| PageError::from_app_error(&request.context, &error);
    let project = &request.context.project;
    let newest = RunPageRequest { limit: CHOICE_COUNT, ..RunPageRequest::default() };
    let newest = load_run_page(project, &newest).await.map_err(to_page_error)?;
    let mut runs = Vec::new();
    for id in [&query.a, &query.b].into_iter().flatten().filter(|id| !id.is_empty()) {
        runs.push(ComparedRun::new(&load_run_view(project, Some(id)).await.map_err(to_page_error)?));
    }
    let heading = PageHeading { title: "Compare two runs", nav: NavPage::Runs, api: "/api/runs".to_owned() };
    let text = |id: &Option<String>| id.as_deref().map(DisplayText::new).unwrap_or_default();
    Ok(render(&ComparePage {
        frame: PageFrame::load(&request, heading).await?,
        choices: newest.runs.iter().map(RunLine::from_listed).collect(),
        a: text(&query.a),
        b: text(&query.b),
        runs,
    }))
}

impl ComparedRun {
    fn new(view: &RunView) -> Self {
        let run = view.row();
        let is_claim = |iteration: &&ralph_store::IterationRow| iteration.claimed == Some(true);
        let claims = view.iterations().iter().filter(is_claim);
        let rejected = claims.clone().filter(|claim| claim.verdict.as_deref() == Some("rejected")).count();
        Self {
            href: format!("/runs/{}", path_segment(&run.id)),
            short: DisplayText::new(short_id(&run.id)),
            title: DisplayText::first_line(run_title(run), 140),
            status: status_of_run(run),
            headline: DisplayText::new(without_status(view.headline())),
            agent: DisplayText::new(&run.agent),
            iterations: run.iterations,
            claims: claims.count(),
            rejected,
            cost: short_cost(run.cost_micros),
            took: run.ended_at.map(|ended| format_elapsed(ended - run.started_at)).unwrap_or_default(),
            proof: view.proof().map(|proof| DisplayText::new(proof.describe())).unwrap_or_default(),
            cells: IterationCell::list(view),
            criteria: CriterionRow::list(view),
        }
    }
}
