//! The list of runs, filtered and paged on the server.
use askama::Template;
use axum::extract::Query;
use ralph_app::run::{RunPageRequest, load_run_page};
use serde::Deserialize;

use super::display::{DisplayText, path_segment};
use super::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, render};
use super::run_table::RunLine;

const DEFAULT_PAGE_SIZE: u32 = 50;
const MAX_PAGE_SIZE: u32 = 200;

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct RunQuery {
    status: Option<String>,
    kind: Option<String>,
    agent: Option<String>,
    task: Option<String>,
    role: Option<String>,
    verdict: Option<String>,
    method: Option<String>,
    before: Option<String>,
    limit: Option<u32>,
}

/// A choice of the status filter.
struct StatusChoice {
    value: &'static str,
    label: String,
    is_chosen: bool,
}

const STATUSES: [&str; 10] = [
    "running",
    "completed",
    "blocked",
    "stalled",
    "exhausted",
    "failed",
    "over_budget",
    "cancelled",
    "interrupted",
    "paused",
];

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: PageFrame,
    runs: Vec<RunLine>,
    statuses: Vec<StatusChoice>,
    agent: DisplayText,
    task: DisplayText,
    role: DisplayText,
    kind: DisplayText,
    verdict: DisplayText,
    method: DisplayText,
    is_filtered: bool,
    is_first_page: bool,
    first_href: String,
    next_href: Option<String>,
}

impl RunQuery {
    fn to_page_request(&self) -> RunPageRequest {
        // An empty field of the form selects all.
        let filled = |value: &Option<String>| value.clone().filter(|value| !value.trim().is_empty());
        RunPageRequest {
            before: filled(&self.before),
            kind: filled(&self.kind),
            agent: filled(&self.agent),
            task: filled(&self.task),
            role: filled(&self.role),
            verdict: filled(&self.verdict),
            method: filled(&self.method),
            status: filled(&self.status),
            limit: self.limit.unwrap_or(DEFAULT_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE),
        }
    }

    /// Returns the address of the page that starts after a run, with the same filter.
    fn href(&self, before: Option<&str>) -> String {
        let filter = self.to_page_request();
        let fields = [
            ("status", filter.status.as_deref()),
            ("kind", filter.kind.as_deref()),
            ("agent", filter.agent.as_deref()),
            ("task", filter.task.as_deref()),
            ("role", filter.role.as_deref()),
            ("verdict", filter.verdict.as_deref()),
            ("method", filter.method.as_deref()),
            ("before", before),
        ];
        let pairs = fields.iter().filter_map(|(name, value)| Some(format!("{name}={}", path_segment((*value)?))));
        let query = pairs.collect::<Vec<_>>().join("&");
        if query.is_empty() { "/runs".to_owned() } else { format!("/runs?{query}") }
    }
}

pub(super) async fn show_runs(request: PageRequest, Query(query): Query<RunQuery>) -> PageResult {
    let filter = query.to_page_request();
    let page = load_run_page(&request.context.project, &filter).await;
    let page = page.map_err(|error| PageError::from_app_error(&request.context, &error))?;
    let heading = PageHeading { title: "Runs", nav: NavPage::Runs, api: "/api/runs".to_owned() };
    let choice = |value: &'static str| StatusChoice {
        value,
        label: value.replace('_', " "),
        is_chosen: filter.status.as_deref() == Some(value),
    };
    let text = |value: &Option<String>| value.as_deref().map(DisplayText::new).unwrap_or_default();
    Ok(render(&RunsPage {
        frame: PageFrame::load(&request, heading).await?,
        runs: page.runs.iter().map(RunLine::from_listed).collect(),
        statuses: STATUSES.map(choice).into(),
        agent: text(&filter.agent),
        task: text(&filter.task),
        role: text(&filter.role),
        kind: text(&filter.kind),
        verdict: text(&filter.verdict),
        method: text(&filter.method),
        is_filtered: query.href(None) != "/runs",
        is_first_page: filter.before.is_none(),
        first_href: query.href(None),
        next_href: page.next.as_deref().map(|before| query.href(Some(before))),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U5
    #[test]
    fn the_address_of_the_next_page_keeps_the_filter() {
        let query = RunQuery {
            status: Some("failed".to_owned()),
            agent: Some("my agent".to_owned()),
            task: Some("  ".to_owned()),
            ..RunQuery::default()
        };
        assert_eq!(query.href(Some("r1")), "/runs?status=failed&agent=my%20agent&before=r1");
        assert_eq!(RunQuery::default().href(None), "/runs");
    }
}
