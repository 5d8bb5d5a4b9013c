//! Lists runs page by page, with what each running one does now.
use ralph_core::loop_state::LoopState;
use ralph_engine::project::Project;
use ralph_store::{LoopRow, RunPageFilter, RunRow, Store};
use serde_json::{Value, json};

use super::{is_orphaned, open_existing_store, with_actual_status};
use crate::error::AppResult;
use crate::view::{LoopLiveness, LoopView, run_json};

/// The runs of a page.
#[derive(Debug, Clone, Default)]
pub struct RunPageRequest {
    /// The id of the last run of the page before.
    pub before: Option<String>,
    pub kind: Option<String>,
    pub agent: Option<String>,
    pub task: Option<String>,
    pub role: Option<String>,
    /// `running`, `interrupted` or an outcome.
    pub status: Option<String>,
    /// Only runs with a claim of this verdict.
    pub verdict: Option<String>,
    /// With a verdict: the method that decided, or `none`.
    pub method: Option<String>,
    pub limit: u32,
}

/// A page of runs, newest first.
#[derive(Debug, Default)]
pub struct RunPage {
    pub runs: Vec<ListedRun>,
    /// What `before` is for the next page; `None` on the last page.
    pub next: Option<String>,
}

/// A run in a list.
#[derive(Debug)]
pub struct ListedRun {
    pub run: RunRow,
    /// Its current activity, if it has not ended.
    pub activity: Option<LoopView>,
}

/// Loads a page. With a status, it may have fewer runs than the limit although others follow.
pub async fn load_run_page(project: &Project, request: &RunPageRequest) -> AppResult<RunPage> {
    let Some(store) = open_existing_store(project).await? else { return Ok(RunPage::default()) };
    let status = request.status.as_deref().unwrap_or_default();
    // A run whose ralph died is stored as running.
    let statuses = [status, if status == "interrupted" { "running" } else { status }];
    let filter = RunPageFilter {
        before: request.before.as_deref(),
        kind: request.kind.as_deref().unwrap_or_default(),
        agent: request.agent.as_deref().unwrap_or_default(),
        task: request.task.as_deref().unwrap_or_default(),
        role: request.role.as_deref().unwrap_or_default(),
        statuses,
        verdict: request.verdict.as_deref().unwrap_or_default(),
        method: request.method.as_deref().unwrap_or_default(),
        limit: request.limit,
    };
    let rows = store.page_of_runs(&filter).await?;
    let is_full = rows.len() >= request.limit as usize;
    let next = rows.last().filter(|_| is_full).map(|last| last.id.clone());
    let mut runs = Vec::new();
    for row in rows {
        let run = with_actual_status(project, row);
        if status.is_empty() || run.status == status {
            let activity = load_activity(project, &store, &run).await?;
            runs.push(ListedRun { run, activity });
        }
    }
    store.close().await;
    Ok(RunPage { runs, next })
}

async fn load_activity(project: &Project, store: &Store, run: &RunRow) -> AppResult<Option<LoopView>> {
    if !matches!(run.status.as_str(), "running" | "interrupted") {
        return Ok(None);
    }
    let Some(row) = store.loop_of_run(&run.id).await? else { return Ok(None) };
    // A parked run has an end, and continues after its wait.
    let state: Option<LoopState> = serde_json::from_str(&row.loop_json).ok();
    let parked = state.and_then(|state| state.parked_until()).filter(|_| run.ended_at.is_some());
    let liveness = match parked {
        Some(until) => LoopLiveness::Parked(until),
        None if run.ended_at.is_some() => return Ok(None),
        None if is_orphaned(project, &run.id) => LoopLiveness::Died,
        None => LoopLiveness::Driven,
    };
    Ok(Some(LoopView::new(LoopRow { run: run.clone(), ..row }, liveness)))
}

impl ListedRun {
    /// Returns the object of `ralph runs --json`, with `now` for a run that has not ended.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = run_json(&self.run);
        let now = self.activity.as_ref().map(|activity| {
            let view = activity.to_json();
            json!({
                "activity": view["status"],
                "iteration": view["iteration"],
                "max_iterations": view["max_iterations"],
                "wait_reason": view["wait_reason"],
                "until": view["until"],
            })
        });
        if let Some(fields) = object.as_object_mut() {
            fields.insert("now".to_owned(), now.into());
        }
        object
    }
}
