//! The criteria of a run against its iterations, with the last line of evidence for each.
use ralph_engine::project::Project;
use ralph_store::{CheckRow, IterationRow, RunRow, Store};
use ralph_util::sanitize::sanitize_text;

use crate::error::AppResult;
use crate::run::{FoundRuns, find_runs};
use crate::why::run_headline;

/// The verdict of a check on a criterion in one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckMark {
    Met,
    NotMet,
    CouldNotEvaluate,
    /// The iteration made no claim, or its claim was not checked.
    NotChecked,
}

/// A criterion with its mark in each iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionRow {
    pub name: String,
    /// One for each iteration.
    pub marks: Vec<CheckMark>,
    /// The reason of the newest check.
    pub last_evidence: String,
    pub is_required: bool,
    /// How deep it is inside a criterion with stages.
    pub depth: usize,
}

/// One run: how it goes, and its criteria.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunGrid {
    pub run: RunRow,
    /// The first line of the explanation.
    pub headline: String,
    pub iterations: Vec<IterationRow>,
    pub criteria: Vec<CriterionRow>,
}

/// Returns the runs of a task, newest first, or the run with this id.
pub async fn load_run_grids(project: &Project, id: &str) -> AppResult<Vec<RunGrid>> {
    let FoundRuns { store, runs } = find_runs(project, Some(id)).await?;
    let mut grids = Vec::new();
    for run in runs.into_iter().rev() {
        grids.push(load_grid(&store, run).await?);
    }
    store.close().await;
    Ok(grids)
}

async fn load_grid(store: &Store, run: RunRow) -> AppResult<RunGrid> {
    let iterations = store.iterations_of_run(&run.id).await?;
    let checks = store.checks_of_run(&run.id).await?;
    let headline = sanitize_text(&run_headline(store, &run).await?);
    let criteria = criteria_rows(&iterations, &checks);
    Ok(RunGrid { run, headline, iterations, criteria })
}

/// Returns the criteria of a run in their order, each with its mark in every iteration.
pub(crate) fn criteria_rows(iterations: &[IterationRow], checks: &[CheckRow]) -> Vec<CriterionRow> {
    let mut places: Vec<&str> = Vec::new();
    for check in checks {
        if !places.contains(&check.outline_number.as_str()) {
            places.push(&check.outline_number);
        }
    }
    places.sort_by_key(|place| place.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>());
    places.into_iter().filter_map(|place| criterion_row(place, iterations, checks)).collect()
}

fn criterion_row(place: &str, iterations: &[IterationRow], checks: &[CheckRow]) -> Option<CriterionRow> {
    let of_place: Vec<&CheckRow> = checks.iter().filter(|check| check.outline_number == place).collect();
    let last = of_place.last()?;
    let mark = |iteration: &IterationRow| {
        let check = of_place.iter().rfind(|check| check.iteration == iteration.number);
        check.map_or(CheckMark::NotChecked, |check| mark_of(&check.verdict))
    };
    Some(CriterionRow {
        name: sanitize_text(last.name.as_deref().unwrap_or(&last.command)).replace('\n', " "),
        marks: iterations.iter().map(mark).collect(),
        last_evidence: sanitize_text(&last.reason).replace('\n', " "),
        is_required: last.required,
        depth: place.matches('.').count(),
    })
}

fn mark_of(verdict: &str) -> CheckMark {
    match verdict {
        "accepted" => CheckMark::Met,
        "rejected" => CheckMark::NotMet,
        _ => CheckMark::CouldNotEvaluate,
    }
}
