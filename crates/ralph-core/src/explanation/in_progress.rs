//! Explains a run that has not ended: its activity, and what would end it.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::evidence_lines::{evidence_of_iteration, iteration_lines};
use super::iteration_facts::group_by_iteration;
use super::rule_numbers::{NumberUnit, UnappliedRule, limits_of_run};
use super::{DecidingRule, DecisionExplanation, RuleNumber, RunRecord, headline};
use crate::event::UnixMillis;
use crate::loop_state::{LoopPhase, LoopState, StopReason, StopTarget};

/// Explains a run that has not ended: what it does now, and which rules could end it.
#[must_use]
pub fn explain_open_run(record: &RunRecord<'_>) -> DecisionExplanation {
    let iterations = group_by_iteration(record.facts);
    let begun = iterations.last().map_or(0, |last| last.number);
    let retries = iterations.last().map_or(0, |last| last.retries);
    let activity = match record.state {
        Some(state) => OpenActivity::of_state(state),
        None => OpenActivity::plain(DecidingRule::Unknown, "running", String::new()),
    };
    let mut not_applied = limits_of_run(record, begun, retries);
    not_applied.extend(record.state.map(timeouts_of_attempt).into_iter().flatten());
    let max = record.max_iterations().map(Into::into);
    // The claim of the iteration before is evidence until this one has its own.
    let mut evidence = match iterations.split_last() {
        Some((_, earlier)) => iteration_lines(earlier),
        None => Vec::new(),
    };
    evidence.extend(iterations.last().map(evidence_of_iteration).unwrap_or_default());
    DecisionExplanation {
        headline: headline(activity.status, &activity.text),
        rule: activity.rule,
        evidence,
        numbers: Vec::from([RuleNumber::count("iterations", begun.into(), max, "iterations")]),
        not_applied,
        until: activity.until,
    }
}

/// The present activity of a run.
struct OpenActivity {
    rule: DecidingRule,
    /// The status word of `status`.
    status: &'static str,
    text: String,
    until: Option<UnixMillis>,
}

impl OpenActivity {
    fn plain(rule: DecidingRule, status: &'static str, text: String) -> Self {
        Self { rule, status, text, until: None }
    }

    fn of_state(state: &LoopState) -> Self {
        let max = state.policy.max_iterations;
        let place = |number: u32, attempt: u32| format!("iteration {number} of {max}, attempt {attempt}");
        match &state.phase {
            LoopPhase::Ready => {
                Self::plain(DecidingRule::NotStarted, "preparing", "the run has not started".to_owned())
            }
            LoopPhase::Preparing { .. } => Self::plain(
                DecidingRule::Preparing,
                "preparing",
                "files are sealed, and the checks run once before the work".to_owned(),
            ),
            LoopPhase::PreparingStopped { stop_request, .. } => {
                Self::plain(DecidingRule::Stopping, "stopping", stop_request.journal_reason().to_owned())
            }
            LoopPhase::Working { iteration, attempt } => {
                let text = format!("the agent works on {}", place(iteration.number, *attempt));
                Self::plain(DecidingRule::AgentWorks, "running", text)
            }
            LoopPhase::Waiting { iteration, attempt, until } => {
                let text = format!("{} starts after a delay", place(iteration.number, *attempt));
                Self { until: Some(*until), ..Self::plain(DecidingRule::RetryWait, "waiting", text) }
            }
            LoopPhase::Limited { iteration, attempt, wait } => {
                let next = format!("{} starts after the wait", place(iteration.number, *attempt));
                let activity = match &wait.asked_because {
                    Some(reason) => Self::plain(DecidingRule::AgentWait, "waiting", format!("{next}: {reason}")),
                    None => Self::plain(DecidingRule::RateLimitWait, "rate_limited", next),
                };
                Self { until: Some(wait.until), ..activity }
            }
            LoopPhase::Verifying { iteration, .. } => {
                let text = format!("the checks of the claim of iteration {} of {max} run", iteration.number);
                Self::plain(DecidingRule::ChecksRun, "verifying", text)
            }
            LoopPhase::Stopping { stopping, .. } => {
                Self::plain(DecidingRule::Stopping, "stopping", describe_stop(stopping))
            }
            LoopPhase::Paused { left } => {
                let next = left.next_attempt();
                let text = format!("before {}, until a person resumes it", place(next.iteration, next.attempt));
                Self::plain(DecidingRule::Paused, "paused", text)
            }
            // The run ended after its journal was read.
            LoopPhase::Interrupted { ended, .. } | LoopPhase::Finished { ended, .. } => {
                Self::plain(DecidingRule::Stopping, "stopping", ended.reason.clone())
            }
        }
    }
}

fn describe_stop(stopping: &StopTarget) -> String {
    match stopping {
        StopTarget::Checks { stop_request } => stop_request.journal_reason().to_owned(),
        StopTarget::Agent { why } => match why {
            StopReason::IterationTooLong => "the iteration took too long".to_owned(),
            StopReason::TooSilent => "the agent was silent for too long".to_owned(),
            StopReason::StayedAfterResult => "the agent did not exit after its final record".to_owned(),
            StopReason::OnlyRepeats => "the agent only retried failed requests for too long".to_owned(),
            StopReason::NoHandshake => "the agent did not open a session in time".to_owned(),
            StopReason::LoginRejected => "the agent's login was rejected several times".to_owned(),
            StopReason::Asked { stop_request } => stop_request.journal_reason().to_owned(),
            StopReason::OverBudget { what } | StopReason::Broken { what } => what.clone(),
        },
    }
}

/// Returns the timeouts that can end the present attempt.
fn timeouts_of_attempt(state: &LoopState) -> Vec<UnappliedRule> {
    let LoopPhase::Working { .. } = &state.phase else { return Vec::new() };
    let timeouts = state.policy.timeouts;
    let limit = |rule, name, limit_ms| {
        let number =
            RuleNumber { name, used: None, limit: Some(limit_ms), unit: NumberUnit::Milliseconds, scope: None };
        UnappliedRule { rule, number: Some(number), note: "" }
    };
    Vec::from([
        limit(DecidingRule::IterationTimeout, "iteration_ms", timeouts.iteration_ms),
        limit(DecidingRule::SilenceTimeout, "silence_ms", timeouts.silence_ms),
    ])
}
