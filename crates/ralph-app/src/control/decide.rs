//! A person decides on the claim that ended a run or a stage as blocked.
use ralph_core::decision::{NoDecision, PersonDecision, WaitingClaim};
use ralph_core::event::PersonVerdict;
use ralph_core::outcome::Outcome;
use ralph_core::task::{Role, TaskStatus};
use ralph_engine::control::{ClaimDecision, DecideClaimError, RunLockError, decide_claim};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, RunSpec, STAGE_RUN_KIND, format_timestamp};
use ralph_store::{RunRow, TakeoverGuard};

use super::claimed_files::ClaimedFiles;
use super::decide_stage::StageDecision;
use super::{ControlAdvice, LoopTarget, LoopTargetKind};
use crate::advice::Advice;
use crate::config::ConfigSource;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::{describe_candidate, list_runs, refuse_command_by_agent, several_candidates_error};
use crate::view::short_id;

/// Longer reasons belong into a file that they name.
const MAX_REASON_BYTES: usize = 16 * 1024;
/// Among how many of the newest runs a claim that waits is searched if none is named.
const DECISION_WINDOW: u32 = 200;

/// A decision on the claim of a task or run.
pub struct DecisionRequest<'a> {
    pub project: &'a Project,
    /// The id of a task, or a part of the id of a run. Without it, the only claim that waits is meant.
    pub id: Option<&'a str>,
    pub because: Option<String>,
    pub config: &'a ConfigSource,
}

/// The claim that a person accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptResult {
    /// The run is completed.
    Run { run: String, user: String, proof: String },
    /// The stage is accepted. `next` is the stage that follows; without one the task is done.
    Stage { task: String, stage: Role, user: String, next: Option<Role> },
}

/// The loop that continues after a rejection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RejectResult {
    /// The run can be resumed.
    Run { run: String },
    /// A worker continues the stage.
    Stage { task: String, stage: Role },
}

/// Accepts the claim that waits. The measured proof level stays.
pub async fn accept_claim(request: DecisionRequest<'_>) -> AppResult<AcceptResult> {
    refuse_command_by_agent(request.project, "accept work of the project that it works on")?;
    let target = find_decision_target(request.project, request.id).await?;
    let accepted = accept_target(&target, &request).await;
    target.close().await;
    accepted
}

/// Rejects the claim that waits. The reason is part of the next prompt.
pub async fn reject_claim(request: DecisionRequest<'_>) -> AppResult<RejectResult> {
    refuse_command_by_agent(request.project, "reject work of the project that it works on")?;
    let target = find_decision_target(request.project, request.id).await?;
    let rejected = reject_target(&target, &request).await;
    target.close().await;
    rejected
}

/// Finds the task or run that is named, or the only one whose claim waits for a decision.
async fn find_decision_target(project: &Project, id: Option<&str>) -> AppResult<LoopTarget> {
    if let Some(id) = id {
        return LoopTarget::find(project, id).await;
    }
    let recent = list_runs(project, DECISION_WINDOW).await?;
    let mut waiting: Vec<&RunRow> = Vec::new();
    for run in recent.iter().filter(|run| run.status == Outcome::Blocked.as_str()) {
        let is_known = run.task.is_some() && waiting.iter().any(|known| known.task == run.task);
        if !is_known && waits_for_decision(project, run.task.as_deref().unwrap_or(&run.id)).await? {
            waiting.push(run);
        }
    }
    match waiting.as_slice() {
        [] => Err(AppError::preflight("no claim waits for a decision").with_advice(ControlAdvice::ListTargets)),
        [run] => LoopTarget::find(project, run.task.as_deref().unwrap_or(&run.id)).await,
        several => {
            let candidates = several.iter().map(|run| describe_candidate(run));
            Err(several_candidates_error("several claims wait for a decision", candidates))
        }
    }
}

/// Returns whether the claim of a run or task waits for the decision of a person.
pub async fn waits_for_decision(project: &Project, id: &str) -> AppResult<bool> {
    let target = LoopTarget::find(project, id).await?;
    let is_waiting = WaitingRun::find(&target).await.is_ok();
    target.close().await;
    Ok(is_waiting)
}

async fn accept_target(target: &LoopTarget, request: &DecisionRequest<'_>) -> AppResult<AcceptResult> {
    let decision = request.person_decision()?;
    let user = decision.user.clone();
    if let Some(row) = find_accepted_run(target).await?
        && let Some(stage) = StageDecision::of_run(target, &row)?
    {
        let next = stage.finish_acceptance(request.config).await?;
        let user = accepted_by(&row).map_or(user, |by| by.user);
        return Ok(AcceptResult::Stage { task: stage.task.clone(), stage: stage.role, user, next });
    }
    let WaitingRun { row, claim } = WaitingRun::find(target).await?;
    let files = ClaimedFiles::find(&target.project, &row)?;
    files.ensure_unchanged(&claim).await?;
    let proof = claim.proof.display_word().to_owned();
    if let Some(stage) = StageDecision::of_run(target, &row)? {
        let next = stage.accept(&files, &claim, decision, request.config).await?;
        return Ok(AcceptResult::Stage { task: stage.task.clone(), stage: stage.role, user, next });
    }
    // If a reference of the work tree cannot be moved, the claim still waits.
    files.accept_work(&claim).await?;
    record_decision(target, &row, PersonVerdict::Accepted, decision, TakeoverGuard::Unguarded).await?;
    Ok(AcceptResult::Run { run: short_id(&row.id).to_owned(), user, proof })
}

async fn reject_target(target: &LoopTarget, request: &DecisionRequest<'_>) -> AppResult<RejectResult> {
    let decision = request.person_decision()?;
    let WaitingRun { row, .. } = WaitingRun::find(target).await?;
    if let Some(stage) = StageDecision::of_run(target, &row)? {
        stage.reject(decision).await?;
        return Ok(RejectResult::Stage { task: stage.task.clone(), stage: stage.role });
    }
    record_decision(target, &row, PersonVerdict::Rejected, decision, TakeoverGuard::Unguarded).await?;
    Ok(RejectResult::Run { run: short_id(&row.id).to_owned() })
}

/// Answers the question that ended a run as blocked, so that the run can be resumed.
pub(super) async fn answer_question(target: &LoopTarget, row: &RunRow, answer: String) -> AppResult<()> {
    let decision = new_decision(Some(answer));
    record_decision(target, row, PersonVerdict::Answered, decision, TakeoverGuard::Unguarded).await
}

/// Records a decision in the journal of the run.
pub(super) async fn record_decision(
    target: &LoopTarget,
    row: &RunRow,
    verdict: PersonVerdict,
    decision: PersonDecision,
    guard: TakeoverGuard<'_>,
) -> AppResult<()> {
    let decided = ClaimDecision { verdict, decision, guard, at: Clock::wall_now() };
    match decide_claim(&target.project, &target.store, row, decided).await {
        Ok(()) => Ok(()),
        Err(DecideClaimError::NothingWaits(why)) => Err(nothing_waits_error(target, row, &why)),
        Err(DecideClaimError::Store(error)) => Err(error.into()),
        Err(DecideClaimError::Lock(error)) => Err(run_lock_error(error)),
        Err(error @ (DecideClaimError::Spec(_) | DecideClaimError::Receipt(_))) => {
            Err(AppError::from_error(ErrorKind::Preflight, &error).with_advice(Advice::StartNewRun))
        }
    }
}

/// Explains why the lock of a run was not taken.
pub(super) fn run_lock_error(error: RunLockError) -> AppError {
    match error {
        RunLockError::Unusable(error) => error.into(),
        RunLockError::Driven => {
            AppError::from_error(ErrorKind::StateUnusable, &error).with_advice(ControlAdvice::ShowStatus)
        }
    }
}

impl DecisionRequest<'_> {
    fn person_decision(&self) -> AppResult<PersonDecision> {
        let because = self.because.as_deref().map(parse_reason).transpose()?;
        Ok(new_decision(because))
    }
}

fn new_decision(because: Option<String>) -> PersonDecision {
    PersonDecision { user: user_name(), at: format_timestamp(Clock::wall_now()), because }
}

fn parse_reason(text: &str) -> AppResult<String> {
    match text.trim() {
        "" => Err(AppError::invalid_request("the reason is empty").with_advice("write why you decide so")),
        long if long.len() > MAX_REASON_BYTES => Err(AppError::invalid_request("the reason is longer than 16 KB")
            .with_advice("put it into a file in the project, and name that file")),
        text => Ok(text.to_owned()),
    }
}

/// Returns the name of the person who uses this terminal.
pub fn user_name() -> String {
    let named = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    let mut named = named.filter(|name| !name.trim().is_empty());
    named.next().unwrap_or_else(|| "an unnamed user".to_owned())
}

/// A run with a claim that waits for a person.
struct WaitingRun {
    row: RunRow,
    claim: WaitingClaim,
}

impl WaitingRun {
    /// Finds the run, or the newest run of a blocked task.
    async fn find(target: &LoopTarget) -> AppResult<Self> {
        let row = match &target.kind {
            LoopTargetKind::Run(row) => row.run.clone(),
            LoopTargetKind::Task { id, status } => {
                ensure_blocked(id, *status)?;
                let newest = target.store.runs_of_task(id).await?.pop();
                newest
                    .ok_or_else(|| AppError::preflight(format!("{id} has no run, so nothing waits for a decision")))?
            }
        };
        let stored = target.store.load_run(&row.id).await?;
        if stored.fence == 0 {
            return Err(AppError::preflight(format!("run {} cannot be decided on here", short_id(&row.id)))
                .with_cause("it was imported from a file, or written by an older ralph"));
        }
        let claim = stored.state.claim_to_decide().cloned();
        Ok(Self { claim: claim.map_err(|why| nothing_waits_error(target, &row, &why))?, row })
    }
}

/// Returns the newest run of a blocked task if a person has accepted its claim: the next stage was not queued, because the
/// process ended in between.
async fn find_accepted_run(target: &LoopTarget) -> AppResult<Option<RunRow>> {
    let task = match &target.kind {
        LoopTargetKind::Run(row) => row.run.task.clone(),
        LoopTargetKind::Task { id, .. } => Some(id.clone()),
    };
    let Some(task) = task else { return Ok(None) };
    let is_blocked = target.store.get_task(&task).await?.is_some_and(|row| row.task.status == TaskStatus::Blocked);
    let newest = target.store.runs_of_task(&task).await?.pop();
    Ok(newest.filter(|row| is_blocked && row.status == Outcome::Completed.as_str() && accepted_by(row).is_some()))
}

fn accepted_by(row: &RunRow) -> Option<PersonDecision> {
    serde_json::from_str(row.accepted_by.as_deref()?).ok()
}

/// Refuses a task that is not blocked.
pub(super) fn ensure_blocked(task: &str, status: TaskStatus) -> AppResult<()> {
    if status == TaskStatus::Blocked {
        return Ok(());
    }
    Err(AppError::preflight(format!("{task} is {}, so nothing waits for a decision", status.as_str()))
        .with_advice(ControlAdvice::ShowStatus))
}

/// Explains why there is nothing to decide.
fn nothing_waits_error(target: &LoopTarget, row: &RunRow, why: &NoDecision) -> AppError {
    let (run, id) = (short_id(&row.id), target.name().to_owned());
    let stage_task = row.task.clone().filter(|_| row.kind == STAGE_RUN_KIND);
    let error = match why {
        NoDecision::StillOpen => {
            AppError::preflight(format!("run {run} has not ended, so nothing waits for a decision"))
        }
        NoDecision::NotBlocked { outcome } => {
            AppError::preflight(format!("run {run} is {}, so nothing waits for a decision", outcome.as_str()))
        }
        NoDecision::Question { reason } => {
            return AppError::preflight(format!("run {run} waits for an answer, not for a decision"))
                .with_cause(reason)
                .with_advice(ControlAdvice::AnswerQuestion { id, is_task: row.task.is_some() });
        }
        NoDecision::NotStarted { reason } => {
            return AppError::preflight(format!(
                "run {run} was blocked before its first iteration, so it has no claim"
            ))
            .with_cause(reason)
            .with_advice(Advice::StartNewRun);
        }
        NoDecision::ClaimWaits => {
            return AppError::preflight(format!("run {run} waits for a decision on its claim, not for an answer"))
                .with_advice(ControlAdvice::DecideClaim { id });
        }
        NoDecision::SentBack { reason } => {
            AppError::preflight(format!("run {run} sent the work back, so it has no claim to decide on"))
                .with_cause(reason)
        }
    };
    match (why, stage_task) {
        (NoDecision::NotBlocked { outcome: Outcome::Completed } | NoDecision::StillOpen, _) | (_, None) => {
            error.with_advice(ControlAdvice::ShowStatus)
        }
        (_, Some(task)) => error.with_advice(ControlAdvice::RetryTask { task }),
    }
}

/// Returns the settings of a run.
pub(super) fn parse_spec(row: &RunRow) -> AppResult<RunSpec> {
    RunSpec::parse(&row.settings).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))
}
