//! Resumes a stored run: wakes a paused one in the process that drives it, or takes over one that no process drives.
use ralph_core::control_command::ControlCommand;
use ralph_core::loop_state::LoopPhase;
use ralph_core::outcome::RunEnd;
use ralph_engine::control::{CommandDelivery, DriverStatus, find_driver, send_command};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, ResumedRun, RunPlan, STAGE_RUN_KIND, StartMode};
use ralph_store::{CommandTarget, EventRow, RunRow, Store, StoredRun, TakeoverGuard};
use ralph_util::failpoints::{self, FailPoint};

use super::started_run::acquire_run_lease;
use super::{
    FoundRun, RebuiltRun, ResumeRequest, RunHost, StartedRun, find_resumable_run, find_run, kill_leftover_processes,
    open_existing_store, refuse_command_by_agent, refuse_recursion, refuse_session_run,
};
use crate::advice::Advice;
use crate::control::{ANSWER_TIMEOUT, describe_loop, poll_with_timeout, unresponsive_error};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::plan::preflight_resumed_run;
use crate::state::{StateEvidence, adopt_old_state};
use crate::tasks::{GenerationOutcome, finish_generation};
use crate::view::short_id;
use crate::worktrees::ensure_task_is_free;

/// The ways to resume a run, by its state.
pub enum PreparedResume {
    NotNeeded(ResumeNotNeeded),
    Resumable(Box<ResumableRun>),
}

/// Why a run need not be resumed by this process.
pub enum ResumeNotNeeded {
    /// The process that drives the run has resumed it. `position` names the loop and its iteration.
    WokenUp {
        position: String,
    },
    /// The task has no loop at the moment; its next one does not start paused any more.
    PauseWithdrawn {
        task: String,
    },
    Ended(Box<EndedRun>),
}

/// A run that has ended, so that there is nothing to resume.
pub struct EndedRun {
    pub row: RunRow,
    pub end: RunEnd,
    /// The last event of its journal.
    pub last_event: Option<EventRow>,
    /// The generated tasks, if it is a run that generates tasks.
    pub generation: AppResult<Option<GenerationOutcome>>,
}

/// A run that [`resume_run`] can resume.
pub struct ResumableRun {
    row: RunRow,
    plan: RunPlan,
    /// Changes to files and settings since the run started.
    changes: Vec<String>,
}

/// The result of [`resume_run`].
pub enum ResumeStart {
    /// Another process has ended the run meanwhile.
    Ended(Box<EndedRun>),
    Started(Box<StartedRun>),
}

impl ResumableRun {
    #[must_use]
    pub fn id(&self) -> &str {
        &self.plan.context.id
    }

    #[must_use]
    pub fn plan(&self) -> &RunPlan {
        &self.plan
    }

    /// Lets a long wait end this process. It must resume the run afterwards.
    pub fn allow_parking(&mut self) {
        self.plan.spec.policy.rate_limits.parking.is_possible = true;
    }

    pub(super) fn plan_mut(&mut self) -> &mut RunPlan {
        &mut self.plan
    }
}

/// Refuses to resume anything in this project, before the store is opened.
pub fn ensure_resume_allowed(project: &Project) -> AppResult<()> {
    refuse_recursion(project)?;
    adopt_old_state(project, StateEvidence::Required).map(drop)
}

/// Finds the run whose id starts or ends with `part`, the newest run of that task, or the newest run, and checks whether
/// it can be resumed. A paused run that is driven is woken up; otherwise nothing changes.
pub async fn prepare_resume(
    project: &Project,
    part: Option<&str>,
    request: &ResumeRequest<'_>,
) -> AppResult<PreparedResume> {
    refuse_command_by_agent(project, "resume a loop of the project that it works on")?;
    if let Some(task) = withdraw_task_pause(project, part).await? {
        return Ok(PreparedResume::NotNeeded(ResumeNotNeeded::PauseWithdrawn { task }));
    }
    let FoundRun { store, run: row } = find_resumable_run(project, part).await?;
    let prepared = match wake_paused_run(&store, &row, project).await? {
        Some(position) => Ok(PreparedResume::NotNeeded(ResumeNotNeeded::WokenUp { position })),
        None => inspect_run(request, &store, row, project).await,
    };
    store.close().await;
    prepared
}

/// Withdraws the pause of a task whose next loop would start paused. Returns the task.
async fn withdraw_task_pause(project: &Project, part: Option<&str>) -> AppResult<Option<String>> {
    let (Some(task), Some(store)) = (part, open_existing_store(project).await?) else { return Ok(None) };
    let is_withdrawn = store.withdraw_pauses(task).await?;
    store.close().await;
    Ok(is_withdrawn.then(|| task.to_owned()))
}

/// Tells the process that drives a paused run to resume it. Returns `None` if the run is not paused or has no driver.
async fn wake_paused_run(store: &Store, row: &RunRow, project: &Project) -> AppResult<Option<String>> {
    let Some(found) = store.loop_of_run(&row.id).await?.filter(|found| found.run.status == "running") else {
        return Ok(None);
    };
    let DriverStatus::Driven(owner) = find_driver(project, &found) else { return Ok(None) };
    let state = store.load_run(&row.id).await?.state;
    let is_paused = matches!(state.phase, LoopPhase::Paused { .. });
    if !is_paused && !state.pending_commands.pause {
        return Ok(None);
    }
    let (target, command) = (CommandTarget::Run(&row.id), &ControlCommand::Resume);
    let sent = send_command(store, target, command, Clock::wall_now(), owner.as_ref()).await?;
    let CommandDelivery::Queued { id } = sent else { return Ok(None) };
    let answered = async || Ok(store.command_answer(&id).await?);
    if poll_with_timeout(ANSWER_TIMEOUT, answered).await?.is_none() {
        return Err(unresponsive_error(&found, owner.as_ref())
            .with_advice("the command stays queued: the loop resumes as soon as its process responds"));
    }
    Ok(Some(describe_loop(&found).to_string()))
}

/// Checks whether a run can be resumed. Changes nothing.
async fn inspect_run(
    request: &ResumeRequest<'_>,
    store: &Store,
    row: RunRow,
    project: &Project,
) -> AppResult<PreparedResume> {
    let stored = store.load_run(&row.id).await?;
    if !stored.state.can_resume() {
        let ended = EndedRun::load(store, project, row, &stored).await?;
        return Ok(PreparedResume::NotNeeded(ResumeNotNeeded::Ended(Box::new(ended))));
    }
    refuse_session_run(&row, "resumed")?;
    if row.kind == STAGE_RUN_KIND {
        let message = format!("run {} is a stage that a worker drives", short_id(&row.id));
        return Err(AppError::preflight(message).with_advice(Advice::ResumeWithWorker));
    }
    let RebuiltRun { plan, changes } = request.rebuild_plan(&row, &stored, project)?;
    preflight_resumed_run(&plan)?;
    Ok(PreparedResume::Resumable(Box::new(ResumableRun { row, plan, changes })))
}

/// Takes over a run that no process drives. Kills what its last driver left running.
pub async fn resume_run(run: ResumableRun, host: RunHost, person: &dyn Interaction) -> AppResult<ResumeStart> {
    let ResumableRun { row, plan, changes } = run;
    let FoundRun { store, run: _ } = find_run(&plan.context.project, Some(&row.id)).await?;
    let lease = acquire_run_lease(&plan).await?;
    let settings = plan.spec.to_stored_json();
    let settings = settings.map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))?;
    if let Some(task) = &row.task {
        ensure_task_is_free(&store, task).await?;
    }
    failpoints::reach_fail_point(FailPoint::StageBegins);
    let guard = row.task.as_deref().map_or(TakeoverGuard::Unguarded, |task| TakeoverGuard::TaskUnleased { task });
    let mut stored = store.take_over_run(&row.id, &lease.owner().to_json(), &settings, guard).await?;
    // The driver decides, not the one before.
    stored.state.policy.rate_limits.parking.is_possible = plan.spec.policy.rate_limits.parking.is_possible;
    if !stored.state.can_resume() {
        let ended = EndedRun::load(&store, &plan.context.project, row, &stored).await?;
        return Ok(ResumeStart::Ended(Box::new(ended)));
    }
    kill_leftover_processes(&row.id, person);
    let mode = StartMode::Resumed(Box::new(ResumedRun { stored_run: stored, changes }));
    Ok(ResumeStart::Started(Box::new(StartedRun { plan, mode, lease, store, host })))
}

impl EndedRun {
    async fn load(store: &Store, project: &Project, row: RunRow, stored: &StoredRun) -> AppResult<Self> {
        let Some(end) = stored.state.run_end().cloned() else {
            return Err(AppError::from_message(ErrorKind::Internal, "a run that cannot be resumed has no end"));
        };
        let last_event = store.events_after(&row.id, stored.fact_count - 1, 1).await?.pop();
        let generation = finish_generation(store, project, &row.id, &end).await;
        Ok(Self { row, end, last_event, generation })
    }
}
