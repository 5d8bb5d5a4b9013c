//! Runs that wait for a person: paused ones, those whose process died, and those that ended without success.
use ralph_core::decision::NoDecision;
use ralph_core::event::UnixMillis;
use ralph_core::explanation::headline;
use ralph_core::loop_state::{LoopPhase, LoopState};
use ralph_core::outcome::Outcome;
use ralph_core::session_loop::SESSION_RUN_KIND;
use ralph_engine::control::{DriverStatus, find_driver};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{LoopRow, RunRow, Store};

use super::{ExhaustedLimit, InboxAnswer, InboxItem, InboxKind};
use crate::error::AppResult;
use crate::view::{run_title, short_id};
use crate::why::run_headline;

/// How long a run without a task that ended without success is listed, if nothing can be decided.
const MAX_LISTED_AGE_MS: u64 = 7 * 86_400_000;
/// Among how many of the newest runs a later one with the same prompt is searched.
const LATER_RUN_WINDOW: u32 = 200;

/// The end of a run, as the inbox shows it.
pub(crate) struct EndedLoop {
    pub(crate) kind: InboxKind,
    pub(crate) reason: String,
    pub(crate) answer: InboxAnswer,
}

/// Returns the loops that are paused, and those whose process died.
pub(crate) async fn waiting_loops(project: &Project, store: &Store) -> AppResult<Vec<InboxItem>> {
    let mut items = Vec::new();
    for row in store.running_loops().await? {
        if row.run.kind == SESSION_RUN_KIND {
            continue;
        }
        let is_driven = matches!(find_driver(project, &row), DriverStatus::Driven(_));
        let state: Option<LoopState> = serde_json::from_str(&row.loop_json).ok();
        let is_paused = state.is_some_and(|state| matches!(state.phase, LoopPhase::Paused { .. }));
        if is_driven && !is_paused {
            continue;
        }
        // The run may have ended after it was listed, and before its driver was looked for.
        if !is_driven && store.loop_of_run(&row.run.id).await?.is_none_or(|now| now.run.status != row.run.status) {
            continue;
        }
        let run = row.run.clone();
        let reason = match is_paused {
            true => run_headline(store, &run).await?,
            false => headline(Outcome::Interrupted.as_str(), "its ralph died; resume the run to continue it"),
        };
        let kind = if is_paused { InboxKind::Paused } else { InboxKind::Died };
        let answer = match run.kind.as_str() {
            "stage" if !is_driven => InboxAnswer::StartWorker,
            _ => InboxAnswer::Resume { run: short_id(&run.id).to_owned() },
        };
        items.push(InboxItem { kind, reason, answer, holds_slot: is_driven, ..item_of_run(&run) });
    }
    Ok(items)
}

/// Returns the runs without a task that ended without success: those that a person can decide on, and the recent ones
/// without a later run with the same prompt.
pub(super) async fn unsuccessful_runs(store: &Store) -> AppResult<Vec<InboxItem>> {
    let rows = store.unsuccessful_runs_without_task().await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let newest: Vec<LaterRun> = store.recent_runs(LATER_RUN_WINDOW).await?.iter().map(LaterRun::from_row).collect();
    let oldest = UnixMillis(Clock::wall_now().0.saturating_sub_unsigned(MAX_LISTED_AGE_MS));
    let mut items = Vec::new();
    for row in rows.iter().filter(|row| row.run.kind != SESSION_RUN_KIND) {
        let Some(ended) = end_of_loop(row, short_id(&row.run.id)) else { continue };
        let is_open = matches!(ended.answer, InboxAnswer::DecideClaim { .. } | InboxAnswer::AnswerQuestion { .. });
        let is_recent = row.run.ended_at.unwrap_or(row.run.started_at) >= oldest.0;
        let is_repeated = || newest.iter().any(|later| later.repeats(&row.run));
        if is_open || (is_recent && !is_repeated()) {
            let EndedLoop { kind, reason, answer } = ended;
            items.push(InboxItem { kind, reason, answer, ..item_of_run(&row.run) });
        }
    }
    Ok(items)
}

/// The identity of the work of a run.
struct LaterRun {
    kind: String,
    title: String,
    started_at: i64,
}

impl LaterRun {
    fn from_row(run: &RunRow) -> Self {
        Self { kind: run.kind.clone(), title: run_title(run), started_at: run.started_at }
    }

    fn repeats(&self, run: &RunRow) -> bool {
        self.started_at > run.started_at && self.kind == run.kind && self.title == run_title(run)
    }
}

fn item_of_run(run: &RunRow) -> InboxItem {
    let short = short_id(&run.id).to_owned();
    InboxItem {
        kind: InboxKind::Failed,
        id: run.task.clone().unwrap_or_else(|| short.clone()),
        task: run.task.clone(),
        run: Some(run.id.clone()),
        title: run_title(run),
        reason: String::new(),
        since: Some(UnixMillis(run.ended_at.unwrap_or(run.started_at))),
        holds_slot: false,
        blocked_tasks: 0,
        answer: InboxAnswer::ReadLog { run: short },
    }
}

/// Returns how a loop ended and what a person can do; `None` if it has not ended, was cancelled or was imported. `id`
/// names it in the answer.
pub(crate) fn end_of_loop(row: &LoopRow, id: &str) -> Option<EndedLoop> {
    // An imported run has no owner, and cannot be continued.
    row.owner_json.as_ref()?;
    let outcome = Outcome::parse(&row.run.status)?;
    let state: LoopState = serde_json::from_str(&row.loop_json).ok()?;
    let reason = row.run.reason.clone().unwrap_or_default();
    let (id, is_task) = (id.to_owned(), row.run.task.is_some());
    let retry = || match &row.run.task {
        Some(task) => InboxAnswer::RetryTask { task: task.clone() },
        None => InboxAnswer::ReadLog { run: id.clone() },
    };
    let proceed = |limit| InboxAnswer::Continue { id: id.clone(), limit, is_task };
    let (kind, answer) = match outcome {
        Outcome::Blocked => blocked_end(&state, &id, is_task).unwrap_or_else(|| (InboxKind::Blocked, retry())),
        Outcome::Exhausted => (InboxKind::Exhausted, proceed(ExhaustedLimit::Iterations)),
        Outcome::Stalled => (InboxKind::Stalled, proceed(ExhaustedLimit::Guidance)),
        Outcome::OverBudget => (InboxKind::OverBudget, proceed(exhausted_limit(&reason))),
        Outcome::Failed => (InboxKind::Failed, retry()),
        Outcome::Completed | Outcome::Cancelled | Outcome::Interrupted => return None,
    };
    Some(EndedLoop { kind, reason: headline(outcome.as_str(), &reason), answer })
}

/// Returns what a blocked run waits for; `None` if nothing can be decided or answered.
fn blocked_end(state: &LoopState, id: &str, is_task: bool) -> Option<(InboxKind, InboxAnswer)> {
    match state.claim_to_decide() {
        Ok(_) if state.unevaluated_verdicts == 0 => {
            Some((InboxKind::ChangedTests, InboxAnswer::DecideClaim { id: id.to_owned() }))
        }
        Ok(_) => Some((InboxKind::CouldNotEvaluate, InboxAnswer::DecideClaim { id: id.to_owned() })),
        Err(NoDecision::Question { .. }) => {
            Some((InboxKind::Question, InboxAnswer::AnswerQuestion { id: id.to_owned(), is_task }))
        }
        Err(
            NoDecision::StillOpen
            | NoDecision::NotBlocked { .. }
            | NoDecision::NotStarted { .. }
            | NoDecision::ClaimWaits
            | NoDecision::SentBack { .. },
        ) => None,
    }
}

/// Returns the limit that a reason names at its end.
fn exhausted_limit(reason: &str) -> ExhaustedLimit {
    let limits = [
        ("(max_cost_usd)", ExhaustedLimit::Cost),
        ("(max_tokens)", ExhaustedLimit::Tokens),
        ("(max_duration)", ExhaustedLimit::Duration),
        ("(max_iterations)", ExhaustedLimit::Iterations),
    ];
    limits.into_iter().find(|(name, _)| reason.ends_with(name)).map_or(ExhaustedLimit::Guidance, |(_, limit)| limit)
}
