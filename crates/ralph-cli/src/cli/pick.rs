//! Finding the run that a user means, and seeing whether it lives.
use crate::error::Failure;
use ralph_app::view::short_id;
use ralph_engine::lock;
use ralph_engine::project::Project;
use ralph_store::{Opening, RunRow, Store};

/// Opens the store of the project here, if it has one.
pub async fn store() -> Result<Option<Store>, Failure> {
    let project = Project::here()?;
    Ok(Store::open(&project.state(), Opening::Existing).await?)
}

/// Returns the newest runs, as they are and not only as they were recorded.
pub async fn runs(limit: u32) -> Result<Vec<RunRow>, Failure> {
    let project = Project::here()?;
    let Some(store) = store().await? else { return Ok(Vec::new()) };
    Ok(store.runs(limit).await?.into_iter().map(|run| as_it_is(&project, run)).collect())
}

/// Returns the store and the newest run that is going on.
pub async fn running() -> Result<(Store, RunRow), Failure> {
    let none = || {
        Failure::preflight("no run is going on in this project")
            .hint("`ralph attach RUN` shows the end of an earlier one; `ralph runs` lists them")
    };
    let project = Project::here()?;
    let store = store().await?.ok_or_else(none)?;
    let recorded = store.recorded_as_running().await?;
    let run = recorded.into_iter().find(|run| !is_cut_short(&project, &run.id)).ok_or_else(none)?;
    Ok((store, run))
}

/// Returns the store and the run: the newest, or the one whose id begins or ends with `part`.
pub async fn run(part: Option<&str>) -> Result<(Store, RunRow), Failure> {
    if part.is_some_and(|part| part.trim().is_empty()) {
        return Err(Failure::usage("the id of the run is empty")
            .hint("leave it out for the newest run; `ralph runs` lists them"));
    }
    let none = || Failure::preflight("this project has no runs yet").hint("start one with `ralph run`");
    let store = store().await?.ok_or_else(none)?;
    let mut found = match part {
        None => store.runs(1).await?,
        Some(part) => store.runs_like(part).await?,
    };
    match (found.len(), part) {
        (0, None) => Err(none()),
        (0, Some(part)) => {
            Err(Failure::usage(format!("there is no run {part:?} here")).hint("`ralph runs` lists them"))
        }
        (1, _) => Ok((store, as_it_is(&Project::here()?, found.swap_remove(0)))),
        (_, part) => Err(Failure::usage(format!("{:?} means more than one run", part.unwrap_or_default()))
            .hint("give more characters of the id; `ralph runs --json` has it whole")),
    }
}

/// The same, where a task stands for the newest run of it.
pub async fn run_or_task(part: Option<&str>) -> Result<(Store, RunRow), Failure> {
    if let (Some(part), Some(store)) = (part, store().await?) {
        let of_task = store.runs_of_task(part).await?.pop();
        store.close().await;
        if let Some(newest) = of_task {
            return run(Some(&newest.id)).await;
        }
    }
    run(part).await
}

/// A run that nobody drives was cut short, whatever its record says: its ralph could not write any more.
fn as_it_is(project: &Project, mut run: RunRow) -> RunRow {
    if run.status == "running" && is_cut_short(project, &run.id) {
        let short = short_id(&run.id);
        run.reason = Some(format!("its ralph ended without a word; `ralph resume {short}` goes on with it"));
        run.status = "interrupted".to_owned();
    }
    run
}

/// Tells whether nobody drives a run.
pub fn is_cut_short(project: &Project, run: &str) -> bool {
    lock::is_free(&project.run_lock(run))
}
