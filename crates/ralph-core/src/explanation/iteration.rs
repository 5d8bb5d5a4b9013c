//! Why an iteration ended as it did.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::evidence_lines::evidence_of_iteration;
use super::iteration_facts::{IterationFacts, RecordedVerdict, group_by_iteration};
use super::rule_numbers::limits_of_run;
use super::run_end::rule_of_end;
use super::{DecidingRule, DecisionExplanation, EvidenceLine, RuleNumber, RunRecord, headline};
use crate::evidence::{EvidenceKind, Verdict};
use crate::fact::{AttemptResult, IterationStatus};

/// Explains one iteration; `None` if the run has no such iteration.
#[must_use]
pub fn explain_iteration(record: &RunRecord<'_>, number: u32) -> Option<DecisionExplanation> {
    let iterations = group_by_iteration(record.facts);
    let iteration = iterations.iter().find(|iteration| iteration.number == number)?;
    let rule = rule_of_iteration(iteration);
    let of = record.max_iterations().map(|max| format!(" of {max}")).unwrap_or_default();
    let mut evidence = evidence_of_iteration(iteration);
    evidence.extend(end_line(iteration));
    let max = record.max_iterations().map(Into::into);
    let numbers = Vec::from([
        RuleNumber::count("iterations", number.into(), max, "iterations"),
        RuleNumber::count("attempts", iteration.attempts.len() as u64, None, "attempts"),
    ]);
    let mut not_applied = limits_of_run(record, number, iteration.retries);
    // The other counts are those of the end of the run.
    not_applied.retain(|other| matches!(other.rule, DecidingRule::IterationLimit | DecidingRule::RetryLimit));
    not_applied.retain(|other| other.rule != rule);
    Some(DecisionExplanation {
        headline: format!("iteration {number}{of}: {}", describe_iteration(iteration)),
        rule,
        evidence,
        numbers,
        not_applied,
        until: None,
    })
}

/// Returns how the run ended, if it ended in this iteration.
fn end_line(iteration: &IterationFacts<'_>) -> Option<EvidenceLine> {
    let end = iteration.end?;
    let text = format!("the run ended: {}", headline(end.fact.outcome.as_str(), end.fact.reason));
    Some(EvidenceLine { seq: Some(end.seq), text })
}

/// Returns the rule that decided on an iteration.
pub(super) fn rule_of_iteration(iteration: &IterationFacts<'_>) -> DecidingRule {
    if let Some(verdict) = &iteration.verdict {
        return rule_of_verdict(&verdict.fact);
    }
    let status = iteration.status.map(|status| status.fact);
    match status {
        None => return DecidingRule::AgentWorks,
        Some(IterationStatus::TimedOut) => return rule_of_timeout(iteration),
        Some(IterationStatus::Failed) => return rule_of_last_iteration(iteration),
        Some(IterationStatus::Interrupted) => return DecidingRule::Interrupted,
        Some(IterationStatus::Finished) => {}
    }
    match iteration.claim.map(|claim| claim.fact) {
        Some(claim) if claim.accepted => DecidingRule::ClaimAlone,
        Some(claim) if claim.contradiction.is_some() => DecidingRule::ContradictedClaim,
        Some(claim) if claim.claimed => DecidingRule::ContradictedApproval,
        // The agent asked to wait, and the run ended instead.
        Some(_) if rule_of_last_iteration(iteration) == DecidingRule::AgentWaitLimit => DecidingRule::AgentWaitLimit,
        Some(_) => DecidingRule::NoClaim,
        // A message that asks a person, rejects the work or asks for too long a wait is not recorded as a claim.
        None => rule_of_last_iteration(iteration),
    }
}

/// Returns the rule that ended the run in this iteration.
fn rule_of_last_iteration(iteration: &IterationFacts<'_>) -> DecidingRule {
    iteration.end.map_or(DecidingRule::AgentFailure, |end| rule_of_end(&end.fact, Some(iteration)))
}

fn rule_of_verdict(recorded: &RecordedVerdict<'_>) -> DecidingRule {
    let deciding = recorded.checks.iter().find(|check| check.verdict == recorded.verdict);
    match (recorded.verdict, deciding.map(|check| check.method)) {
        (Verdict::Accepted, _) => DecidingRule::ChecksAccepted,
        (Verdict::CouldNotEvaluate, _) => DecidingRule::CheckUnevaluated,
        // No check rejected the claim: the level of the proof did.
        (Verdict::Rejected, None) => DecidingRule::ProofTooLow,
        (Verdict::Rejected, Some(EvidenceKind::Seal)) => DecidingRule::SealBroken,
        (Verdict::Rejected, Some(EvidenceKind::Commit)) => DecidingRule::WorkNotCommitted,
        (Verdict::Rejected, Some(EvidenceKind::ProtectedTests)) => DecidingRule::ProtectedTests,
        (
            Verdict::Rejected,
            Some(
                EvidenceKind::StringMatch
                | EvidenceKind::External
                | EvidenceKind::Semantic
                | EvidenceKind::MultiStage
                | EvidenceKind::Plugin,
            ),
        ) => DecidingRule::CheckRejected,
    }
}

fn rule_of_timeout(iteration: &IterationFacts<'_>) -> DecidingRule {
    match failure_of(iteration) {
        Some("the iteration took too long") => DecidingRule::IterationTimeout,
        _ => DecidingRule::SilenceTimeout,
    }
}

fn failure_of<'a>(iteration: &IterationFacts<'a>) -> Option<&'a str> {
    let attempt: &AttemptResult = iteration.last_attempt()?.fact;
    attempt.failure.as_deref()
}

/// Describes an iteration in one line, without its number.
pub(super) fn describe_iteration(iteration: &IterationFacts<'_>) -> String {
    let verdict_reason = || iteration.verdict.map_or("", |verdict| verdict.fact.reason);
    let claim_why = || iteration.claim.map_or("", |claim| claim.fact.why.as_str());
    let rule = rule_of_iteration(iteration);
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other rules end the run, and have its reason")]
    match rule {
        DecidingRule::ChecksAccepted => format!("the claim was accepted: {}", verdict_reason()),
        DecidingRule::CheckUnevaluated => format!("the claim could not be evaluated: {}", verdict_reason()),
        DecidingRule::CheckRejected
        | DecidingRule::ProofTooLow
        | DecidingRule::SealBroken
        | DecidingRule::WorkNotCommitted
        | DecidingRule::ProtectedTests => format!("the claim was rejected: {}", verdict_reason()),
        DecidingRule::ClaimAlone => "the claim completed the run; nothing was verified".to_owned(),
        DecidingRule::ContradictedClaim | DecidingRule::ContradictedApproval => {
            format!("the claim was rejected: {}", claim_why())
        }
        DecidingRule::NoClaim => format!("no claim: {}", claim_why()),
        DecidingRule::Interrupted => {
            let why = failure_of(iteration).or(iteration.stop.map(|stop| stop.fact));
            why.map_or_else(|| "interrupted".to_owned(), |why| format!("interrupted: {why}"))
        }
        DecidingRule::AgentWorks => "has not ended".to_owned(),
        DecidingRule::IterationTimeout | DecidingRule::SilenceTimeout => {
            format!("timed out: {}", failure_of(iteration).unwrap_or_default())
        }
        _ => iteration.end.map_or_else(|| "failed".to_owned(), |end| end.fact.reason.to_owned()),
    }
}

impl DecidingRule {
    /// Returns whether the rule accepts a claim.
    pub(super) fn is_acceptance(self) -> bool {
        matches!(self, Self::ChecksAccepted | Self::ClaimAlone)
    }
}
