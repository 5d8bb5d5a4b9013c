//! Finds the run that a person names, with its actual status.
use ralph_core::session_loop::SESSION_RUN_KIND;
use ralph_engine::lock;
use ralph_engine::project::Project;
use ralph_engine::session_driver::SessionRunSettings;
use ralph_store::{OpenMode, RunRow, Store};

use crate::advice::Advice;
use crate::error::{AppError, AppResult};
use crate::state::{StateEvidence, adopt_old_state};
use crate::view::short_id;

/// Among how many of the newest runs the one to resume is searched.
const RESUMABLE_RUN_WINDOW: u32 = 200;

/// A run with the open store that it was found in.
pub struct FoundRun {
    pub store: Store,
    pub run: RunRow,
}

/// Opens the store of the project, if it has one.
pub async fn open_existing_store(project: &Project) -> AppResult<Option<Store>> {
    adopt_old_state(project, StateEvidence::Required)?;
    Ok(Store::open(&project.state_folder(), OpenMode::Existing).await?)
}

/// Returns the newest runs with their actual status.
pub async fn list_runs(project: &Project, limit: u32) -> AppResult<Vec<RunRow>> {
    let Some(store) = open_existing_store(project).await? else { return Ok(Vec::new()) };
    Ok(store.recent_runs(limit).await?.into_iter().map(|run| with_actual_status(project, run)).collect())
}

/// Returns the newest run that is still driven.
pub async fn find_active_run(project: &Project) -> AppResult<FoundRun> {
    let none = || AppError::preflight("no run is active in this project").with_advice(Advice::FollowEndedRun);
    let store = open_existing_store(project).await?.ok_or_else(none)?;
    let recorded = store.unfinished_runs().await?;
    let is_driven = |run: &RunRow| run.kind != SESSION_RUN_KIND && !is_orphaned(project, &run.id);
    let run = recorded.into_iter().find(is_driven).ok_or_else(none)?;
    Ok(FoundRun { store, run })
}

/// Returns the run whose id starts or ends with `part`, or the newest run.
pub async fn find_run(project: &Project, part: Option<&str>) -> AppResult<FoundRun> {
    if part.is_some_and(|part| part.trim().is_empty()) {
        return Err(AppError::invalid_request("the id of the run is empty").with_advice(Advice::OmitRunId));
    }
    let none = || AppError::preflight("this project has no runs yet").with_advice(Advice::StartRun);
    let store = open_existing_store(project).await?.ok_or_else(none)?;
    let mut found = match part {
        None => store.recent_runs(1).await?,
        Some(part) => store.find_runs_by_id_part(part).await?,
    };
    match (found.len(), part) {
        (0, None) => Err(none()),
        (0, Some(part)) => {
            Err(AppError::invalid_request(format!("there is no run {part:?} here")).with_advice(Advice::ListRuns))
        }
        (1, _) => Ok(FoundRun { store, run: with_actual_status(project, found.swap_remove(0)) }),
        (_, part) => {
            Err(AppError::invalid_request(format!("{:?} matches more than one run", part.unwrap_or_default()))
                .with_advice(Advice::GiveLongerRunId))
        }
    }
}

/// Like [`find_run`]; the id of a task names its newest run.
pub async fn find_run_or_task(project: &Project, part: Option<&str>) -> AppResult<FoundRun> {
    if let (Some(part), Some(store)) = (part, open_existing_store(project).await?) {
        let newest = store.runs_of_task(part).await?.pop();
        store.close().await;
        if let Some(newest) = newest {
            return find_run(project, Some(&newest.id)).await;
        }
    }
    find_run(project, part).await
}

/// Like [`find_run_or_task`]; without a name, the newest run that is not the loop of a session.
pub async fn find_resumable_run(project: &Project, part: Option<&str>) -> AppResult<FoundRun> {
    let newest = match (part, open_existing_store(project).await?) {
        (None, Some(store)) => store.recent_runs(RESUMABLE_RUN_WINDOW).await?,
        (Some(_), _) | (None, None) => Vec::new(),
    };
    let newest = newest.into_iter().find(|run| run.kind != SESSION_RUN_KIND);
    find_run_or_task(project, part.or(newest.as_ref().map(|run| run.id.as_str()))).await
}

/// A run that is recorded as running but not driven was interrupted: its ralph died. No process drives the loop of a
/// session.
fn with_actual_status(project: &Project, mut run: RunRow) -> RunRow {
    if run.status == "running" && run.kind != SESSION_RUN_KIND && is_orphaned(project, &run.id) {
        run.reason = Some("its ralph died; resume the run to continue it".to_owned());
        run.status = "interrupted".to_owned();
    }
    run
}

/// Refuses a run that is the loop of a session. `action` completes the sentence "it cannot be …".
pub fn refuse_session_run(run: &RunRow, action: &str) -> AppResult<()> {
    let Some(settings) = SessionRunSettings::parse(&run.kind, &run.settings) else { return Ok(()) };
    let message = format!("run {} is a loop inside a session of {}", short_id(&run.id), run.agent);
    Err(AppError::preflight(message)
        .with_cause(format!("it cannot be {action} from outside; the session {} continues it", settings.session_id))
        .with_advice(Advice::CancelSessionLoop { session: settings.session_id }))
}

/// Returns whether no process drives the run.
#[must_use]
pub fn is_orphaned(project: &Project, run: &str) -> bool {
    lock::is_lock_free(&project.run_lock(run))
}
