//! Groups the facts of a journal by iteration.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::RunRecord;
use crate::evidence::{CheckEvidence, Verdict};
use crate::fact::{AttemptResult, ClaimFact, Fact, IterationStatus};
use crate::outcome::Outcome;
use crate::text::format_duration_ms;

/// A fact with its number in the journal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered<T> {
    pub(super) seq: u32,
    pub(super) fact: T,
}

/// The verdict on a claim as it was recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedVerdict<'a> {
    pub(super) verdict: Verdict,
    pub(super) reason: &'a str,
    pub(super) checks: &'a [CheckEvidence],
}

/// The facts of one iteration. If parts of it were repeated, the last ones count.
#[derive(Debug, Default)]
pub(super) struct IterationFacts<'a> {
    pub(super) number: u32,
    pub(super) attempts: Vec<Numbered<&'a AttemptResult>>,
    pub(super) claim: Option<Numbered<&'a ClaimFact>>,
    pub(super) verdict: Option<Numbered<RecordedVerdict<'a>>>,
    pub(super) stop: Option<Numbered<&'a str>>,
    pub(super) status: Option<Numbered<IterationStatus>>,
    pub(super) retries: u32,
    pub(super) waits: Vec<Numbered<String>>,
    /// The end of the run, if it ended in this iteration.
    pub(super) end: Option<Numbered<RecordedEnd<'a>>>,
}

/// The end of a run as it was recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedEnd<'a> {
    pub(super) outcome: Outcome,
    pub(super) reason: &'a str,
    pub(super) exit_code: u8,
    pub(super) iterations: u32,
}

/// Returns the iterations of a journal in order.
pub(super) fn group_by_iteration<'a>(facts: &'a [Fact]) -> Vec<IterationFacts<'a>> {
    let mut iterations: Vec<IterationFacts<'a>> = Vec::new();
    for (seq, fact) in (1..).zip(facts) {
        if let Fact::IterationStarted { iteration } = fact {
            iterations.push(IterationFacts { number: *iteration, ..IterationFacts::default() });
        } else if let Some(current) = iterations.last_mut() {
            current.add(seq, fact);
        }
    }
    iterations
}

impl<'a> IterationFacts<'a> {
    fn add(&mut self, seq: u32, fact: &'a Fact) {
        match fact {
            Fact::AttemptStarted { .. } => {
                (self.claim, self.verdict, self.stop) = (None, None, None);
            }
            Fact::AttemptEnded { result, .. } => self.attempts.push(Numbered { seq, fact: result }),
            Fact::Claim { claim, .. } => self.claim = Some(Numbered { seq, fact: claim }),
            Fact::Verdict { verdict, reason, checks, .. } => {
                let recorded = RecordedVerdict { verdict: *verdict, reason, checks };
                self.verdict = Some(Numbered { seq, fact: recorded });
            }
            Fact::IterationEnded { status, .. } => self.status = Some(Numbered { seq, fact: *status }),
            Fact::StopRequested { reason } => self.stop = Some(Numbered { seq, fact: reason }),
            Fact::RetryScheduled { reason, .. } => {
                self.retries += 1;
                self.waits.push(Numbered { seq, fact: format!("retried after a failure: {reason}") });
            }
            Fact::LimitWaiting { delay_ms, reason, .. } => {
                let text = format!("rate limited for {}: {reason}", format_duration_ms(*delay_ms));
                self.waits.push(Numbered { seq, fact: text });
            }
            Fact::AgentWaiting { delay_ms, reason, .. } => {
                let text = format!("the agent asked to wait {}: {reason}", format_duration_ms(*delay_ms));
                self.waits.push(Numbered { seq, fact: text });
            }
            Fact::RunFinished { outcome, reason, iterations, exit_code, .. } => {
                let end = RecordedEnd { outcome: *outcome, reason, exit_code: *exit_code, iterations: *iterations };
                self.end.get_or_insert(Numbered { seq, fact: end });
            }
            Fact::RunResumed { .. } => {
                self.end = self.end.filter(|end| end.fact.outcome != Outcome::Interrupted);
                // An interrupted iteration continues under the same number.
                self.status = self.status.filter(|status| status.fact != IterationStatus::Interrupted);
            }
            Fact::RunStarted { .. }
            | Fact::RunSealed { .. }
            | Fact::Baseline { .. }
            | Fact::RunPaused { .. }
            | Fact::RunGuided { .. }
            | Fact::AgentReported { .. }
            | Fact::StandingGuidance { .. }
            | Fact::LimitsChanged { .. }
            | Fact::IterationStarted { .. }
            | Fact::AgentChanged { .. }
            | Fact::SessionFresh { .. }
            | Fact::RunAccepted { .. }
            | Fact::RunRejected { .. }
            | Fact::Receipt { .. } => {}
        }
    }

    /// Returns the last attempt that has ended.
    pub(super) fn last_attempt(&self) -> Option<Numbered<&'a AttemptResult>> {
        self.attempts.last().copied()
    }
}

impl RunRecord<'_> {
    /// Returns the iteration limit: the present one of the state, else the one with which the run started.
    pub(super) fn max_iterations(&self) -> Option<u32> {
        let recorded = self.facts.iter().rev().find_map(|fact| {
            if let Fact::LimitsChanged { limits } = fact {
                return limits.max_iterations;
            };
            if let Fact::RunStarted { max_iterations, .. } = fact { Some(*max_iterations) } else { None }
        });
        self.state.map(|state| state.policy.max_iterations).or(recorded)
    }
}
