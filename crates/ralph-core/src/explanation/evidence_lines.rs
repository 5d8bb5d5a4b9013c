//! The lines of evidence: claims, verdicts and failures in the words of the journal.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::EvidenceLine;
use super::iteration::{describe_iteration, rule_of_iteration};
use super::iteration_facts::{IterationFacts, Numbered, RecordedVerdict};
use crate::evidence::{CheckEvidence, Verdict};
use crate::fact::{AttemptResult, ClaimFact, Fact};
use crate::text::text_tail;

/// How many lines of the output of a check are quoted.
const MAX_OUTPUT_LINES: usize = 5;
/// The length to which a quoted line is cut.
const MAX_LINE_BYTES: usize = 300;
/// How many of the last iterations are listed.
const MAX_LISTED_ITERATIONS: usize = 5;
/// How many of the last attempts of an iteration are listed.
const MAX_LISTED_ATTEMPTS: usize = 5;

fn line(seq: u32, text: String) -> EvidenceLine {
    EvidenceLine { seq: Some(seq), text }
}

/// Returns the evidence of one iteration: failed attempts and waits, the claim, and the verdict with its checks.
pub(super) fn evidence_of_iteration(iteration: &IterationFacts<'_>) -> Vec<EvidenceLine> {
    let mut lines = failed_attempt_lines(iteration);
    lines.extend(iteration.waits.iter().map(|wait| line(wait.seq, wait.fact.clone())));
    lines.sort_by_key(|line| line.seq);
    lines.extend(iteration.stop.map(|stop| line(stop.seq, format!("stop requested: {}", stop.fact))));
    lines.extend(iteration.claim.into_iter().flat_map(claim_lines));
    lines.extend(iteration.verdict.into_iter().flat_map(verdict_lines));
    lines
}

fn failed_attempt_lines(iteration: &IterationFacts<'_>) -> Vec<EvidenceLine> {
    let numbered = (1..).zip(&iteration.attempts);
    let failed = numbered.filter_map(|(number, attempt): (usize, &Numbered<&AttemptResult>)| {
        let failure = attempt.fact.failure.as_ref()?;
        let stderr = last_lines(&attempt.fact.stderr_tail, 1).pop();
        let stderr = stderr.map(|text| format!(" (stderr: {text})")).unwrap_or_default();
        Some(line(attempt.seq, format!("attempt {number} {}: {failure}{stderr}", attempt.fact.status.as_str())))
    });
    let lines: Vec<EvidenceLine> = failed.collect();
    let first = lines.len().saturating_sub(MAX_LISTED_ATTEMPTS);
    lines.into_iter().skip(first).collect()
}

fn claim_lines(claim: Numbered<&ClaimFact>) -> Vec<EvidenceLine> {
    let word = if claim.fact.claimed { "claim" } else { "no claim" };
    let contradiction = claim.fact.contradiction.as_ref();
    let contradiction = contradiction.map(|text| line(claim.seq, format!("the same message says: {text}")));
    core::iter::once(line(claim.seq, format!("{word}: {}", claim.fact.why))).chain(contradiction).collect()
}

fn verdict_lines(verdict: Numbered<RecordedVerdict<'_>>) -> Vec<EvidenceLine> {
    verdict.fact.checks.iter().flat_map(|check| check_lines(verdict.seq, check)).collect()
}

fn check_lines(seq: u32, check: &CheckEvidence) -> Vec<EvidenceLine> {
    let word = match check.verdict {
        Verdict::Accepted => "accepted",
        Verdict::Rejected => "rejected",
        Verdict::CouldNotEvaluate => "could not be evaluated",
    };
    let optional = if check.required { "" } else { ", not required" };
    let mut lines = Vec::from([line(seq, format!("`{}` {word}{optional}: {}", check.display_name(), check.reason))]);
    if check.verdict != Verdict::Accepted {
        let output = last_lines(&check.tail, MAX_OUTPUT_LINES);
        lines.extend(output.into_iter().map(|text| line(seq, format!("  | {text}"))));
    }
    lines
}

/// Returns one line for each of the last iterations.
pub(super) fn iteration_lines(iterations: &[IterationFacts<'_>]) -> Vec<EvidenceLine> {
    let first = iterations.len().saturating_sub(MAX_LISTED_ITERATIONS);
    let listed = iterations.iter().skip(first).map(|iteration| {
        let text = format!("iteration {}: {}", iteration.number, describe_iteration(iteration));
        EvidenceLine { seq: iteration.last_seq(), text }
    });
    listed.collect()
}

/// Returns how many claims there were, and how many of them were accepted.
pub(super) fn claim_count_line(iterations: &[IterationFacts<'_>]) -> Option<EvidenceLine> {
    let claimed = |iteration: &&IterationFacts<'_>| iteration.claim.is_some_and(|claim| claim.fact.claimed);
    let claims: Vec<&IterationFacts<'_>> = iterations.iter().filter(claimed).collect();
    let accepted = claims.iter().filter(|iteration| rule_of_iteration(iteration).is_acceptance()).count();
    let total = iterations.len();
    (total > 1).then(|| {
        let text = format!("claims: {} in {total} iterations, {accepted} accepted", claims.len());
        EvidenceLine::without_fact(text)
    })
}

/// Returns the facts that explain an end without an iteration, or the act of a person.
pub(super) fn end_lines(facts: &[Fact]) -> Vec<EvidenceLine> {
    let numbered: Vec<(u32, &Fact)> = (1..).zip(facts).collect();
    let last = numbered.into_iter().rev().map_while(|(seq, fact)| end_line(seq, fact));
    let mut lines: Vec<EvidenceLine> = last.flatten().collect();
    lines.reverse();
    lines
}

/// Returns the line of a fact that belongs to an end, if it has one; `None` if the fact belongs to the work before.
fn end_line(seq: u32, fact: &Fact) -> Option<Option<EvidenceLine>> {
    let text = match fact {
        Fact::RunAccepted { accepted_by, .. } => format!("accepted {}, {}", accepted_by.describe(), accepted_by.at),
        Fact::RunRejected { rejected_by, .. } => format!("rejected {}, {}", rejected_by.describe(), rejected_by.at),
        Fact::RunGuided { words } => format!("guidance: {}", first_line(words)),
        Fact::LimitsChanged { limits } => format!("new limits: {}", limits.describe()),
        Fact::StopRequested { reason } => format!("stop requested: {reason}"),
        Fact::RunPaused { iteration, .. } => format!("paused at iteration {iteration}"),
        Fact::Receipt { .. } | Fact::IterationEnded { .. } => return Some(None),
        Fact::RunStarted { .. }
        | Fact::RunSealed { .. }
        | Fact::Baseline { .. }
        | Fact::RunResumed { .. }
        | Fact::StandingGuidance { .. }
        | Fact::IterationStarted { .. }
        | Fact::AttemptStarted { .. }
        | Fact::AttemptEnded { .. }
        | Fact::RetryScheduled { .. }
        | Fact::LimitWaiting { .. }
        | Fact::AgentWaiting { .. }
        | Fact::AgentReported { .. }
        | Fact::AgentChanged { .. }
        | Fact::SessionFresh { .. }
        | Fact::Claim { .. }
        | Fact::Verdict { .. }
        | Fact::RunFinished { .. } => return None,
    };
    Some(Some(line(seq, text)))
}

/// Returns the checks of the baseline that keep the run from starting.
pub(super) fn baseline_lines(facts: &[Fact]) -> Vec<EvidenceLine> {
    let last =
        (1..).zip(facts).filter_map(
            |(seq, fact): (u32, &Fact)| {
                if let Fact::Baseline { checks } = fact { Some((seq, checks)) } else { None }
            },
        );
    let Some((seq, checks)) = last.last() else { return Vec::new() };
    checks.iter().flat_map(|check| check_lines(seq, &check.evidence)).collect()
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// Returns the last lines of a text that are not empty.
fn last_lines(text: &str, count: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let first = lines.len().saturating_sub(count);
    lines.iter().skip(first).map(|line| text_tail(line, MAX_LINE_BYTES).to_owned()).collect()
}

impl IterationFacts<'_> {
    /// Returns the number of the last fact that says how the iteration went.
    fn last_seq(&self) -> Option<u32> {
        let verdict = self.verdict.map(|verdict| verdict.seq);
        let claim = self.claim.map(|claim| claim.seq);
        let attempt = self.last_attempt().map(|attempt| attempt.seq);
        verdict.or(claim).or(attempt)
    }
}
