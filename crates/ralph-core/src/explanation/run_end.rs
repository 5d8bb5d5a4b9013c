//! Why a run ended as it did.
use alloc::vec::Vec;

use super::evidence_lines::{baseline_lines, claim_count_line, end_lines, evidence_of_iteration, iteration_lines};
use super::iteration_facts::{IterationFacts, RecordedEnd, group_by_iteration};
use super::rule_numbers::{UnappliedRule, limits_of_run};
use super::{DecidingRule, DecisionExplanation, EvidenceLine, RuleNumber, RunRecord, headline};
use crate::evidence::{Evidence, Verdict};
use crate::fact::{Fact, IterationStatus};
use crate::outcome::{CancelCause, Outcome, RunEnd, exit_code};
use crate::step::is_repeated_failure;

/// Explains a run that has ended; `None` if its journal does not end with an end.
#[must_use]
pub fn explain_ended_run(record: &RunRecord<'_>) -> Option<DecisionExplanation> {
    let end = recorded_end(record.facts)?;
    let iterations = group_by_iteration(record.facts);
    let rule = rule_of_journal(record.facts, &end, &iterations);
    let retries = iterations.last().map_or(0, |last| last.retries);
    let limits = limits_of_run(record, end.iterations, retries);
    let (applied, not_applied) = split_by_rule(limits, rule);
    let max = record.max_iterations().map(Into::into);
    let mut numbers = applied;
    if numbers.is_empty() {
        numbers.push(RuleNumber::count("iterations", end.iterations.into(), max, "iterations"));
    }
    Some(DecisionExplanation {
        headline: headline(end.outcome.as_str(), end.reason),
        rule,
        evidence: evidence_of_end(record.facts, rule, &iterations),
        numbers,
        not_applied,
        until: record.state.and_then(crate::loop_state::LoopState::parked_until),
    })
}

/// Explains a run whose process ended without recording an end. `reason` says how it continues.
#[must_use]
pub fn explain_dead_run(record: &RunRecord<'_>, reason: &str) -> DecisionExplanation {
    let iterations = group_by_iteration(record.facts);
    let begun = iterations.last().map_or(0, |last| last.number);
    let retries = iterations.last().map_or(0, |last| last.retries);
    let max = record.max_iterations().map(Into::into);
    DecisionExplanation {
        headline: headline(Outcome::Interrupted.as_str(), reason),
        rule: DecidingRule::DriverDied,
        evidence: iterations.last().map(evidence_of_iteration).unwrap_or_default(),
        numbers: Vec::from([RuleNumber::count("iterations", begun.into(), max, "iterations")]),
        not_applied: limits_of_run(record, begun, retries),
        until: None,
    }
}

/// Returns the rule that ended a run; `None` if it has not ended.
#[must_use]
pub fn deciding_rule_of_run(facts: &[Fact]) -> Option<DecidingRule> {
    let end = recorded_end(facts)?;
    Some(rule_of_journal(facts, &end, &group_by_iteration(facts)))
}

/// Separates the counts of the rule that decided from the rules that did not.
fn split_by_rule(limits: Vec<UnappliedRule>, rule: DecidingRule) -> (Vec<RuleNumber>, Vec<UnappliedRule>) {
    let (applied, not_applied): (Vec<_>, Vec<_>) = limits.into_iter().partition(|limit| limit.rule == rule);
    let mut numbers: Vec<RuleNumber> = applied.into_iter().filter_map(|limit| limit.number).collect();
    if numbers.iter().any(|number| number.limit.is_some()) {
        // The rule applies where it has a limit: to the run, or to a budget that it shares.
        numbers.retain(|number| number.limit.is_some());
    }
    (numbers, not_applied)
}

/// Returns the end with which the journal ends.
fn recorded_end(facts: &[Fact]) -> Option<RecordedEnd<'_>> {
    let Fact::RunFinished { outcome, reason, iterations, exit_code, .. } = facts.last()? else { return None };
    Some(RecordedEnd { outcome: *outcome, reason, iterations: *iterations, exit_code: *exit_code })
}

/// Returns the rule of the last end. `facts` ends with it.
fn rule_of_journal(facts: &[Fact], end: &RecordedEnd<'_>, iterations: &[IterationFacts<'_>]) -> DecidingRule {
    let before = facts.split_last().map_or(&[][..], |(_, before)| before);
    let previous = before.iter().rev().find(|fact| !matches!(fact, Fact::Receipt { .. }));
    match (end.outcome, previous) {
        (Outcome::Completed, Some(Fact::RunAccepted { .. })) => DecidingRule::PersonAccepted,
        // Only a run that was interrupted before its next iteration is closed.
        (Outcome::Exhausted, Some(Fact::RunFinished { .. })) => DecidingRule::ClosedByWorkflow,
        (Outcome::Blocked, _) if end.iterations == 0 => rule_before_iterations(end, before),
        (Outcome::Interrupted, previous) => rule_of_interruption(end, previous),
        (
            Outcome::Completed
            | Outcome::Exhausted
            | Outcome::Failed
            | Outcome::Stalled
            | Outcome::OverBudget
            | Outcome::Blocked
            | Outcome::Cancelled,
            _,
        ) => rule_of_end(end, iterations.last()),
    }
}

/// Returns the rule of an end in this iteration.
pub(super) fn rule_of_end(end: &RecordedEnd<'_>, iteration: Option<&IterationFacts<'_>>) -> DecidingRule {
    match end.outcome {
        Outcome::Completed => match iteration.and_then(|iteration| iteration.verdict) {
            Some(_) => DecidingRule::ChecksAccepted,
            None => DecidingRule::ClaimAlone,
        },
        Outcome::Exhausted => DecidingRule::IterationLimit,
        Outcome::Stalled => DecidingRule::StallLimit,
        Outcome::OverBudget => rule_of_budget(end.reason),
        Outcome::Failed => rule_of_failed_run(end),
        Outcome::Blocked => rule_of_block(end, iteration),
        Outcome::Cancelled => rule_of_cancellation(end.reason),
        Outcome::Interrupted => DecidingRule::Interrupted,
    }
}

/// The names of settings with which the reasons of limits end. The words of an agent are never at the end of a reason.
const BUDGET_RULES: [(&str, DecidingRule); 7] = [
    ("(max_cost_usd)", DecidingRule::CostLimit),
    ("(max_tokens)", DecidingRule::TokenLimit),
    ("(max_duration)", DecidingRule::TimeLimit),
    ("require_known_cost is set", DecidingRule::UnknownCost),
    ("(max_iterations)", DecidingRule::SharedIterationLimit),
    ("(max_rate_limit_wait)", DecidingRule::RateLimitWaitLimit),
    ("(max_wait)", DecidingRule::AgentWaitLimit),
];

pub(super) fn rule_of_budget(reason: &str) -> DecidingRule {
    let named = BUDGET_RULES.iter().find(|(setting, _)| reason.ends_with(setting));
    named.map_or(DecidingRule::Unknown, |(_, rule)| *rule)
}

fn rule_of_failed_run(end: &RecordedEnd<'_>) -> DecidingRule {
    match end.exit_code {
        exit_code::NO_PLAN => DecidingRule::PlanMissing,
        exit_code::STATE_UNUSABLE => DecidingRule::StateUnusable,
        exit_code::INTERNAL_ERROR => DecidingRule::InternalError,
        _ if is_repeated_failure(end.reason) => DecidingRule::RetryLimit,
        _ => DecidingRule::AgentFailure,
    }
}

/// Returns the rule that blocked a run before its first iteration.
fn rule_before_iterations(end: &RecordedEnd<'_>, before: &[Fact]) -> DecidingRule {
    let is_sealed = before.iter().any(|fact| matches!(fact, Fact::RunSealed { .. }));
    match (end.exit_code, is_sealed) {
        (exit_code::PREFLIGHT_FAILED, _) => DecidingRule::ProofImpossible,
        (_, true) => DecidingRule::CheckCannotRun,
        (_, false) => DecidingRule::SealImpossible,
    }
}

fn rule_of_block(end: &RecordedEnd<'_>, iteration: Option<&IterationFacts<'_>>) -> DecidingRule {
    if end.exit_code == exit_code::NOT_COMPLETE {
        return DecidingRule::WorkSentBack;
    }
    let Some(verdict) = iteration.and_then(|iteration| iteration.verdict) else { return DecidingRule::AgentBlocked };
    match verdict.fact.verdict {
        Verdict::Rejected => DecidingRule::ChangedTests,
        Verdict::CouldNotEvaluate if is_by_judges(verdict.fact.checks) => DecidingRule::JudgeFailed,
        Verdict::CouldNotEvaluate => DecidingRule::ChecksUnevaluated,
        Verdict::Accepted => DecidingRule::Unknown,
    }
}

fn is_by_judges(checks: &[crate::evidence::CheckEvidence]) -> bool {
    Evidence { checks: checks.to_vec() }.is_undecided_only_by_judges()
}

fn rule_of_cancellation(reason: &str) -> DecidingRule {
    let ends_session = [CancelCause::SessionAborted, CancelCause::SessionDeleted];
    let is_session = ends_session.into_iter().any(|cause| RunEnd::cancelled(cause).reason == reason);
    if is_session { DecidingRule::SessionEnded } else { DecidingRule::Cancelled }
}

fn rule_of_interruption(end: &RecordedEnd<'_>, previous: Option<&Fact>) -> DecidingRule {
    match (end.exit_code, previous) {
        (exit_code::SIGINT | exit_code::SIGTERM, _) => DecidingRule::StopSignal,
        (exit_code::BLOCKED, _) => DecidingRule::ReopenedByPerson,
        (_, Some(Fact::IterationEnded { status: IterationStatus::Interrupted, .. })) => DecidingRule::Parked,
        _ => DecidingRule::AwaitsWorkflow,
    }
}

/// Returns the facts that show the rule.
fn evidence_of_end(facts: &[Fact], rule: DecidingRule, iterations: &[IterationFacts<'_>]) -> Vec<EvidenceLine> {
    let before = facts.split_last().map_or(&[][..], |(_, before)| before);
    let last = || iterations.last().map(evidence_of_iteration).unwrap_or_default();
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other rules are shown by the last iteration")]
    match rule {
        DecidingRule::CheckCannotRun | DecidingRule::ProofImpossible => baseline_lines(before),
        DecidingRule::IterationLimit | DecidingRule::StallLimit => {
            let mut lines: Vec<EvidenceLine> = claim_count_line(iterations).into_iter().collect();
            lines.extend(iteration_lines(iterations));
            lines.extend(last().into_iter().filter(|line| line.text.starts_with('`') || line.text.starts_with("  |")));
            lines
        }
        DecidingRule::PersonAccepted | DecidingRule::ReopenedByPerson => {
            last().into_iter().chain(end_lines(before)).collect()
        }
        _ => {
            let mut lines = last();
            let more = end_lines(before).into_iter().filter(|line| !lines.iter().any(|known| known.seq == line.seq));
            let more: Vec<EvidenceLine> = more.collect();
            lines.extend(more);
            lines
        }
    }
}
