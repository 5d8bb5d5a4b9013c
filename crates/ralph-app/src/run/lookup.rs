//! Finds the run that a person names, with its actual status.
use ralph_core::session_loop::SESSION_RUN_KIND;
use ralph_engine::lock;
use ralph_engine::project::Project;
use ralph_engine::session_driver::SessionRunSettings;
use ralph_store::{OpenMode, RunRow, Store};
use ralph_util::suggest;

use crate::advice::Advice;
use crate::error::{AppError, AppResult};
use crate::state::{StateEvidence, adopt_old_state};
use crate::view::{run_title, short_id};

/// Among how many of the newest runs the one to resume is searched.
const RESUMABLE_RUN_WINDOW: u32 = 200;
/// How many candidates an error names.
const MAX_CANDIDATES_NAMED: u32 = 5;

/// A run with the open store that it was found in.
pub struct FoundRun {
    pub store: Store,
    pub run: RunRow,
}

/// Runs with the open store that they were found in.
pub struct FoundRuns {
    pub store: Store,
    pub runs: Vec<RunRow>,
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

/// Returns the only run that is still driven. Fails if several are, and names them.
pub async fn find_active_run(project: &Project) -> AppResult<FoundRun> {
    let none = || AppError::preflight("no run is active in this project").with_advice(Advice::FollowEndedRun);
    let store = open_existing_store(project).await?.ok_or_else(none)?;
    let is_driven = |run: &RunRow| run.kind != SESSION_RUN_KIND && !is_orphaned(project, &run.id);
    let mut driven: Vec<RunRow> = store.unfinished_runs().await?.into_iter().filter(is_driven).collect();
    match driven.len() {
        0 => Err(none()),
        1 => Ok(FoundRun { store, run: driven.swap_remove(0) }),
        _ => Err(several_candidates_error("several runs are active", driven.iter().map(describe_candidate))),
    }
}

/// Returns the run whose id starts or ends with `part`, the newest run of the task with this id, or the newest run.
pub async fn find_run(project: &Project, part: Option<&str>) -> AppResult<FoundRun> {
    let none = || AppError::preflight("this project has no runs yet").with_advice(Advice::StartRun);
    let Some(part) = part else {
        let store = open_existing_store(project).await?.ok_or_else(none)?;
        let newest = store.recent_runs(1).await?.pop().ok_or_else(none)?;
        return Ok(FoundRun { store, run: with_actual_status(project, newest) });
    };
    if part.trim().is_empty() {
        return Err(AppError::invalid_request("the id of the run is empty").with_advice(Advice::OmitRunId));
    }
    let store = open_existing_store(project).await?.ok_or_else(none)?;
    if let Some(newest) = store.runs_of_task(part).await?.pop() {
        return Ok(FoundRun { store, run: with_actual_status(project, newest) });
    }
    let mut found = store.find_runs_by_id_part(part).await?;
    match found.len() {
        0 => Err(unknown_run_error(&store, part).await?),
        1 => Ok(FoundRun { store, run: with_actual_status(project, found.swap_remove(0)) }),
        _ => Err(ambiguous_run_error(part, &found)),
    }
}

/// Like [`find_run`]; without a name, the only run of the project. For use cases that change files.
pub async fn find_only_run(project: &Project, part: Option<&str>) -> AppResult<FoundRun> {
    if let (None, Some(store)) = (part, open_existing_store(project).await?) {
        let newest = store.recent_runs(MAX_CANDIDATES_NAMED).await?;
        store.close().await;
        if newest.len() > 1 {
            return Err(several_candidates_error("there are several runs", newest.iter().map(describe_candidate)));
        }
    }
    find_run(project, part).await
}

/// Returns the runs of the task with this id, oldest first, or the run that [`find_run`] finds.
pub async fn find_runs(project: &Project, part: Option<&str>) -> AppResult<FoundRuns> {
    if let (Some(part), Some(store)) = (part, open_existing_store(project).await?) {
        let runs = store.runs_of_task(part).await?;
        if !runs.is_empty() {
            let runs = runs.into_iter().map(|run| with_actual_status(project, run)).collect();
            return Ok(FoundRuns { store, runs });
        }
        store.close().await;
    }
    let FoundRun { store, run } = find_run(project, part).await?;
    Ok(FoundRuns { store, runs: vec![run] })
}

/// Returns the error for an id that no run and no task has, or whose task has no run.
async fn unknown_run_error(store: &Store, part: &str) -> AppResult<AppError> {
    let tasks = store.list_tasks().await?;
    if tasks.iter().any(|task| task.id == part) {
        return Ok(AppError::preflight(format!("task {part} has no run yet")).with_advice(Advice::StartWorker));
    }
    let failure = AppError::not_found(format!("there is no run and no task {part:?} here"));
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    Ok(match suggest::nearest_name(part, &ids) {
        Some(near) => failure.with_advice(format!("did you mean {near}?")),
        None => failure.with_advice(Advice::ListRuns),
    })
}

/// Returns the error for the part of an id that several runs have.
#[must_use]
pub fn ambiguous_run_error(part: &str, runs: &[RunRow]) -> AppError {
    let candidates = runs.iter().map(|run| format!("{}  {}", run.id, run_title(run)));
    let failure = AppError::invalid_request(format!("{part:?} matches more than one run"));
    candidates.fold(failure, AppError::with_cause).with_advice(Advice::GiveLongerRunId)
}

/// Returns the error for a request without an id that several tasks or runs could be meant by.
#[must_use]
pub fn several_candidates_error(message: &str, candidates: impl Iterator<Item = String>) -> AppError {
    candidates.fold(AppError::invalid_request(message), AppError::with_cause).with_advice(Advice::NameCandidate)
}

/// Names a run as a candidate: the id of its task or its short id, and what it was asked.
#[must_use]
pub fn describe_candidate(run: &RunRow) -> String {
    let name = run.task.as_deref().unwrap_or_else(|| short_id(&run.id));
    format!("{name}  {}", run_title(run))
}

/// Like [`find_run`]; without a name, the newest run that is not the loop of a session.
pub async fn find_resumable_run(project: &Project, part: Option<&str>) -> AppResult<FoundRun> {
    let newest = match (part, open_existing_store(project).await?) {
        (None, Some(store)) => store.recent_runs(RESUMABLE_RUN_WINDOW).await?,
        (Some(_), _) | (None, None) => Vec::new(),
    };
    let newest = newest.into_iter().find(|run| run.kind != SESSION_RUN_KIND);
    find_run(project, part.or(newest.as_ref().map(|run| run.id.as_str()))).await
}

/// A run that is recorded as running but not driven was interrupted: its ralph died. No process drives the loop of a
/// session.
pub(crate) fn with_actual_status(project: &Project, mut run: RunRow) -> RunRow {
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
