//! A loop that is running or parked, as a card and a slot of the board show it.
use ralph_core::event::{AttemptKey, UnixMillis};
use ralph_core::loop_state::{LoopPhase, LoopState, ResumePoint};
use ralph_store::{CheckRow, Store, StoreError};
use ralph_util::sanitize::sanitize_text;

use super::LastOutput;
use crate::view::LoopView;

/// A loop that is running or parked.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveLoop {
    pub started_at: UnixMillis,
    /// The `status` value of `status --json`.
    pub status: &'static str,
    /// Whether a live process drives it.
    pub is_driven: bool,
    /// Its wait or its activity besides the work of its agent.
    pub wait: Option<String>,
    /// The attempt of the iteration; 0 if none has started.
    pub attempt: u32,
    pub is_pause_requested: bool,
    /// Guidance for the next prompt.
    pub pending_guidance: Vec<String>,
    pub max_cost_micros: Option<i64>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    /// How many criteria were not met in each iteration whose claim was checked.
    pub unmet: Vec<usize>,
    /// How many criteria the last check had.
    pub criteria: usize,
    pub last_output: Option<LastOutput>,
}

impl LiveLoop {
    pub(super) async fn load(store: &Store, view: &LoopView) -> Result<(Self, Option<AttemptKey>), StoreError> {
        let row = view.row();
        let checks = store.checks_of_run(&row.run.id).await?;
        let state: Option<LoopState> = serde_json::from_str(&row.loop_json).ok();
        let key = state.as_ref().and_then(|state| current_attempt(&state.phase));
        let max_cost = state.as_ref().and_then(|state| state.policy.budget.max_cost_micros);
        let guidance = state.map(|state| state.pending_commands.guidance).unwrap_or_default();
        let unmet = unmet_by_iteration(&checks);
        let live = Self {
            started_at: UnixMillis(row.run.started_at),
            status: view.status_word(),
            is_driven: view.is_driven(),
            wait: view.wait_text(),
            attempt: key.map_or(0, |key| key.attempt),
            is_pause_requested: view.is_pause_requested(),
            pending_guidance: guidance.iter().map(|words| sanitize_text(words)).collect(),
            max_cost_micros: max_cost.and_then(|micros| i64::try_from(micros).ok()),
            input_tokens: row.run.input_tokens,
            output_tokens: row.run.output_tokens,
            unmet: unmet.iter().map(|iteration| iteration.unmet).collect(),
            criteria: unmet.last().map_or(0, |iteration| iteration.total),
            last_output: None,
        };
        Ok((live, key))
    }
}

/// The criteria of one iteration.
struct CheckedIteration {
    number: i64,
    unmet: usize,
    total: usize,
}

/// Counts the required criteria that were not met in each checked iteration. Stages of a criterion are not counted.
fn unmet_by_iteration(checks: &[CheckRow]) -> Vec<CheckedIteration> {
    let mut iterations: Vec<CheckedIteration> = Vec::new();
    for check in checks.iter().filter(|check| check.required && !check.outline_number.contains('.')) {
        if iterations.last().is_none_or(|last| last.number != check.iteration) {
            iterations.push(CheckedIteration { number: check.iteration, unmet: 0, total: 0 });
        }
        if let Some(last) = iterations.last_mut() {
            last.total += 1;
            last.unmet += usize::from(check.verdict != "accepted");
        }
    }
    iterations
}

/// Returns the attempt whose log is the newest.
fn current_attempt(phase: &LoopPhase) -> Option<AttemptKey> {
    let (iteration, attempt) = match phase {
        LoopPhase::Working { iteration, attempt }
        | LoopPhase::Waiting { iteration, attempt, .. }
        | LoopPhase::Limited { iteration, attempt, .. }
        | LoopPhase::Verifying { iteration, attempt }
        | LoopPhase::Stopping { iteration, attempt, .. } => (iteration, attempt),
        LoopPhase::Paused { left } | LoopPhase::Interrupted { left, .. } => match left {
            ResumePoint::AtWork { iteration, attempt }
            | ResumePoint::Waiting { iteration, attempt, .. }
            | ResumePoint::Limited { iteration, attempt, .. }
            | ResumePoint::Verifying { iteration, attempt } => (iteration, attempt),
            ResumePoint::AtTheStart | ResumePoint::Preparing { .. } | ResumePoint::Between { .. } => return None,
        },
        LoopPhase::Ready
        | LoopPhase::Preparing { .. }
        | LoopPhase::PreparingStopped { .. }
        | LoopPhase::Finished { .. } => return None,
    };
    Some(AttemptKey { iteration: iteration.number, attempt: *attempt })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(iteration: i64, place: &str, verdict: &str) -> CheckRow {
        CheckRow {
            iteration,
            position: 1,
            outline_number: place.to_owned(),
            method: "external".to_owned(),
            name: None,
            command: "true".to_owned(),
            verdict: verdict.to_owned(),
            reason: String::new(),
            exit_code: Some(0),
            duration_ms: 1,
            log_file: String::new(),
            required: true,
            tries: 1,
            cached: false,
            output_digest: None,
            judgement: None,
        }
    }

    // spec: U4
    #[test]
    fn unmet_criteria_are_counted_for_each_checked_iteration_without_their_stages() {
        let optional = CheckRow { required: false, ..check(2, "3", "rejected") };
        let checks = [
            check(1, "1", "rejected"),
            check(1, "1.1", "rejected"),
            check(1, "2", "could_not_evaluate"),
            check(2, "1", "accepted"),
            check(2, "2", "rejected"),
            optional,
        ];
        let counted: Vec<usize> = unmet_by_iteration(&checks).iter().map(|iteration| iteration.unmet).collect();
        assert_eq!(counted, [2, 1]);
        assert_eq!(unmet_by_iteration(&checks).last().map(|last| last.total), Some(2));
    }
}
