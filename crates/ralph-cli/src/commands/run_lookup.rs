//! Finding the run that a user means, and seeing whether it lives.
use crate::error::CommandError;
use ralph_app::view::short_id;
use ralph_engine::lock;
use ralph_engine::project::Project;
use ralph_store::{OpenMode, RunRow, Store};

/// Opens the store of the project here, if it has one.
pub async fn open_existing_store() -> Result<Option<Store>, CommandError> {
    let project = Project::find_here()?;
    Ok(Store::open(&project.state_folder(), OpenMode::Existing).await?)
}

/// Returns the newest runs, as they are and not only as they were recorded.
pub async fn list_runs(limit: u32) -> Result<Vec<RunRow>, CommandError> {
    let project = Project::find_here()?;
    let Some(store) = open_existing_store().await? else { return Ok(Vec::new()) };
    Ok(store.recent_runs(limit).await?.into_iter().map(|run| with_actual_status(&project, run)).collect())
}

/// Returns the store and the newest run that is going on.
pub async fn find_active_run() -> Result<(Store, RunRow), CommandError> {
    let none = || {
        CommandError::preflight_error("no run is going on in this project")
            .with_hint("`ralph attach RUN` shows the end of an earlier one; `ralph runs` lists them")
    };
    let project = Project::find_here()?;
    let store = open_existing_store().await?.ok_or_else(none)?;
    let recorded = store.unfinished_runs().await?;
    let run = recorded.into_iter().find(|run| !is_orphaned(&project, &run.id)).ok_or_else(none)?;
    Ok((store, run))
}

/// Returns the store and the run: the newest, or the one whose id begins or ends with `part`.
pub async fn find_run(part: Option<&str>) -> Result<(Store, RunRow), CommandError> {
    if part.is_some_and(|part| part.trim().is_empty()) {
        return Err(CommandError::usage_error("the id of the run is empty")
            .with_hint("leave it out for the newest run; `ralph runs` lists them"));
    }
    let none = || CommandError::preflight_error("this project has no runs yet").with_hint("start one with `ralph run`");
    let store = open_existing_store().await?.ok_or_else(none)?;
    let mut found = match part {
        None => store.recent_runs(1).await?,
        Some(part) => store.find_runs_by_id_part(part).await?,
    };
    match (found.len(), part) {
        (0, None) => Err(none()),
        (0, Some(part)) => {
            Err(CommandError::usage_error(format!("there is no run {part:?} here"))
                .with_hint("`ralph runs` lists them"))
        }
        (1, _) => Ok((store, with_actual_status(&Project::find_here()?, found.swap_remove(0)))),
        (_, part) => Err(CommandError::usage_error(format!("{:?} means more than one run", part.unwrap_or_default()))
            .with_hint("give more characters of the id; `ralph runs --json` has it whole")),
    }
}

/// The same, where a task stands for the newest run of it.
pub async fn find_run_or_task(part: Option<&str>) -> Result<(Store, RunRow), CommandError> {
    if let (Some(part), Some(store)) = (part, open_existing_store().await?) {
        let of_task = store.runs_of_task(part).await?.pop();
        store.close().await;
        if let Some(newest) = of_task {
            return find_run(Some(&newest.id)).await;
        }
    }
    find_run(part).await
}

/// A run that nobody drives was cut short, whatever its record says: its ralph could not write any more.
fn with_actual_status(project: &Project, mut run: RunRow) -> RunRow {
    if run.status == "running" && is_orphaned(project, &run.id) {
        let short = short_id(&run.id);
        run.reason = Some(format!("its ralph ended without a word; `ralph resume {short}` goes on with it"));
        run.status = "interrupted".to_owned();
    }
    run
}

/// Tells whether nobody drives a run.
pub fn is_orphaned(project: &Project, run: &str) -> bool {
    lock::is_lock_free(&project.run_lock(run))
}
