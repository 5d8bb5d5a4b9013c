//! The execution log: one record per iteration of a stage, built from the facts of its run.
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::attempt::ModelSpend;
use crate::event::UnixMillis;
use crate::evidence::{Verdict, sum_judge_spend};
use crate::fact::{Fact, IterationStatus};
use crate::receipt::ReceiptCheck;
use crate::text::text_head;

/// A longer reason is truncated: a record must fit into one write.
const MAX_REASON_BYTES: usize = 1_000;

/// The record of one iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutionRecord {
    pub task_id: String,
    pub stage: String,
    pub ralph_iteration: u32,
    pub ralph_max: u32,
    /// Whether the agent claimed completion.
    pub promise_found: bool,
    /// Whether checks accepted the claim that verify more than the claim itself.
    pub verified: bool,
    /// Whether another iteration follows.
    pub continuing: bool,
    pub status: IterationStatus,
    pub reason: String,
    pub duration_ms: u64,
    /// Known cost, including retries and judges.
    pub cost_usd: Option<f64>,
    pub run: String,
    /// When the iteration ended, RFC 3339.
    pub at: String,
}

/// The fields of a record that are not in the facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionLogStage {
    pub task: String,
    pub role: String,
    pub run: String,
    pub max_iterations: u32,
}

/// Builds records from the facts of a run, fact by fact.
#[derive(Debug, Clone)]
pub struct ExecutionRecordBuilder {
    stage: ExecutionLogStage,
    /// Formats a time as RFC 3339.
    format_time: fn(UnixMillis) -> String,
    current: IterationSoFar,
    /// The record of the iteration that has ended. It is complete with the next fact, which shows what follows.
    ended_record: Option<ExecutionRecord>,
}

/// The iteration in progress.
#[derive(Debug, Clone, Default)]
struct IterationSoFar {
    promise_found: bool,
    verified: bool,
    reason: String,
    spent: ModelSpend,
}

impl ExecutionRecordBuilder {
    #[must_use]
    pub fn new(stage: ExecutionLogStage, format_time: fn(UnixMillis) -> String) -> Self {
        Self { stage, format_time, current: IterationSoFar::default(), ended_record: None }
    }

    /// Takes the next fact and returns the record that it completes, if any. An interrupted iteration has no record
    /// yet.
    pub fn observe_fact(&mut self, at: UnixMillis, fact: &Fact) -> Option<ExecutionRecord> {
        // A receipt comes between the last iteration and the end of the run.
        if let Fact::Receipt { .. } = fact {
            return None;
        }
        let complete = self.ended_record.take().map(|record| complete_record(record, fact));
        self.apply_fact(at, fact);
        complete
    }

    fn apply_fact(&mut self, at: UnixMillis, fact: &Fact) {
        match fact {
            Fact::IterationStarted { .. } => self.current = IterationSoFar::default(),
            Fact::AttemptEnded { result, .. } => {
                self.current.spent = self.current.spent.add_known(result.spend);
                self.current.reason = result.failure.clone().unwrap_or_default();
            }
            Fact::Claim { claim, .. } => {
                self.current.promise_found = claim.claimed;
                // A failed attempt keeps its own reason: it says more than a missing claim.
                if self.current.reason.is_empty() {
                    self.current.reason.clone_from(&claim.why);
                }
            }
            Fact::Verdict { verdict, reason, checks, .. } => {
                let verifies_work = checks.iter().any(|check| ReceiptCheck::from(check).verifies_work());
                self.current.verified = *verdict == Verdict::Accepted && verifies_work;
                self.current.reason.clone_from(reason);
                self.current.spent = self.current.spent.add_known(sum_judge_spend(checks).unwrap_or_default());
            }
            Fact::IterationEnded { status: IterationStatus::Interrupted, .. } => {}
            Fact::IterationEnded { iteration, status, duration_ms } => {
                self.ended_record = Some(self.build_record(*iteration, *status, *duration_ms, at));
            }
            Fact::RunStarted { .. }
            | Fact::RunSealed { .. }
            | Fact::Baseline { .. }
            | Fact::RunResumed { .. }
            | Fact::RunPaused { .. }
            | Fact::RunGuided { .. }
            | Fact::AgentReported { .. }
            | Fact::LimitsChanged { .. }
            | Fact::AgentWaiting { .. }
            | Fact::StandingGuidance { .. }
            | Fact::RunAccepted { .. }
            | Fact::RunRejected { .. }
            | Fact::AttemptStarted { .. }
            | Fact::RetryScheduled { .. }
            | Fact::LimitWaiting { .. }
            | Fact::AgentChanged { .. }
            | Fact::SessionFresh { .. }
            | Fact::StopRequested { .. }
            | Fact::Receipt { .. }
            | Fact::RunFinished { .. } => {}
        }
    }

    fn build_record(
        &self,
        iteration: u32,
        status: IterationStatus,
        duration_ms: u64,
        at: UnixMillis,
    ) -> ExecutionRecord {
        ExecutionRecord {
            task_id: self.stage.task.clone(),
            stage: self.stage.role.clone(),
            ralph_iteration: iteration,
            ralph_max: self.stage.max_iterations,
            promise_found: self.current.promise_found,
            verified: self.current.verified,
            continuing: true,
            status,
            reason: record_reason(status, &self.current.reason),
            duration_ms,
            cost_usd: self.current.spent.cost_usd(),
            run: self.stage.run.clone(),
            at: (self.format_time)(at),
        }
    }
}

fn record_reason(status: IterationStatus, reason: &str) -> String {
    match (status, reason) {
        (IterationStatus::TimedOut, "") => "the iteration timed out".to_string(),
        (_, reason) => text_head(reason, MAX_REASON_BYTES).to_string(),
    }
}

/// Marks the record as the last one if the run has finished. Without a reason, it gets that of the run.
fn complete_record(record: ExecutionRecord, fact: &Fact) -> ExecutionRecord {
    let Fact::RunFinished { reason: end, .. } = fact else { return record };
    let reason = if record.reason.is_empty() { end } else { &record.reason };
    ExecutionRecord { reason: record_reason(record.status, reason), continuing: false, ..record }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use super::*;
    use crate::attempt::{AttemptEnding, LeftoverProcesses};
    use crate::evidence::{CheckEvidence, EvidenceKind};
    use crate::fact::{AttemptResult, ClaimFact};
    use crate::outcome::Outcome;

    fn attempt_ended(iteration: u32, micros: Option<u64>, failure: Option<&str>) -> Fact {
        let result = AttemptResult {
            status: IterationStatus::Finished,
            ending: AttemptEnding::Exited { code: 0 },
            failure: failure.map(ToString::to_string),
            session: None,
            model: None,
            messages: None,
            spend: ModelSpend { cost_micros: micros, ..ModelSpend::default() },
            final_text: String::new(),
            stderr_tail: String::new(),
            leftovers: LeftoverProcesses::default(),
            unknown_records: 0,
            denied_actions: Vec::new(),
        };
        Fact::AttemptEnded { iteration, attempt: 1, result }
    }

    fn claim_made(iteration: u32, claimed: bool, why: &str) -> Fact {
        Fact::Claim {
            iteration,
            claim: ClaimFact { claimed, accepted: claimed, why: why.to_string(), contradiction: None },
        }
    }

    fn verdict_given(iteration: u32, verdict: Verdict, reason: &str) -> Fact {
        let check =
            CheckEvidence::without_output(EvidenceKind::External, "make".to_string(), verdict, reason.to_string());
        Fact::Verdict { iteration, verdict, reason: reason.to_string(), checks: [check].into() }
    }

    fn iteration_started(iteration: u32) -> Fact {
        Fact::IterationStarted { iteration }
    }

    fn iteration_ended(iteration: u32, status: IterationStatus) -> Fact {
        Fact::IterationEnded { iteration, status, duration_ms: 45_000 }
    }

    fn run_finished(outcome: Outcome, reason: &str) -> Fact {
        let reason = reason.to_string();
        Fact::RunFinished { outcome, reason, iterations: 1, exit_code: 0, spend: ModelSpend::default(), proof: None }
    }

    fn collect_records(facts: &[Fact]) -> Vec<ExecutionRecord> {
        let stage = ExecutionLogStage { task: "T-1".into(), role: "coder".into(), run: "r".into(), max_iterations: 3 };
        let mut writer = ExecutionRecordBuilder::new(stage, |at| format!("{}", at.0));
        facts.iter().filter_map(|fact| writer.observe_fact(UnixMillis(7), fact)).collect()
    }

    // spec: P8
    #[test]
    fn each_iteration_has_one_record_with_its_claim_verification_and_cost() {
        let facts = [
            iteration_started(1),
            attempt_ended(1, Some(10_000), None),
            claim_made(1, false, "no promise was found"),
            iteration_ended(1, IterationStatus::Finished),
            iteration_started(2),
            attempt_ended(2, Some(20_000), Some("exit code 1")),
            attempt_ended(2, Some(5_000), None),
            claim_made(2, true, "on line 3"),
            verdict_given(2, Verdict::Accepted, "External verification passed"),
            iteration_ended(2, IterationStatus::Finished),
            run_finished(Outcome::Completed, "verified"),
        ];
        let expected = |number: u32, is_done: bool| ExecutionRecord {
            task_id: "T-1".into(),
            stage: "coder".into(),
            ralph_iteration: number,
            ralph_max: 3,
            promise_found: is_done,
            verified: is_done,
            continuing: !is_done,
            status: IterationStatus::Finished,
            reason: if is_done { "External verification passed" } else { "no promise was found" }.into(),
            duration_ms: 45_000,
            cost_usd: Some(if is_done { 0.025 } else { 0.01 }),
            run: "r".into(),
            at: "7".into(),
        };
        assert_eq!(collect_records(&facts), [expected(1, false), expected(2, true)]);
    }

    // spec: P8
    #[test]
    fn a_rejected_claim_is_recorded_as_found_but_not_verified_and_an_unknown_cost_stays_unknown() {
        let facts = [
            iteration_started(1),
            attempt_ended(1, None, None),
            claim_made(1, true, "on line 3"),
            verdict_given(1, Verdict::Rejected, "Command exited with 1, expected 0"),
            iteration_ended(1, IterationStatus::Finished),
            iteration_started(2),
        ];
        let [record] = collect_records(&facts).try_into().unwrap();
        assert_eq!((record.promise_found, record.verified, record.cost_usd), (true, false, None));
        assert_eq!(record.reason, "Command exited with 1, expected 0");
    }

    // spec: P8, L13
    #[test]
    fn an_interrupted_iteration_gets_its_record_when_it_ends_after_the_resume() {
        let interrupted = [
            iteration_started(1),
            attempt_ended(1, Some(10_000), None),
            iteration_ended(1, IterationStatus::Interrupted),
            run_finished(Outcome::Interrupted, "stopped by Ctrl-C"),
        ];
        assert_eq!(collect_records(&interrupted), []);
        let rest = [
            attempt_ended(1, Some(10_000), None),
            claim_made(1, false, "no promise was found"),
            iteration_ended(1, IterationStatus::Finished),
            run_finished(Outcome::Exhausted, "Max iterations reached without completion promise"),
        ];
        let [record] = collect_records(&[&interrupted[..], &rest[..]].concat()).try_into().unwrap();
        assert_eq!((record.ralph_iteration, record.continuing, record.cost_usd), (1, false, Some(0.02)));
    }

    // spec: P8
    #[test]
    fn an_iteration_without_a_reason_reports_its_timeout_or_the_end_of_the_run_and_a_long_reason_is_truncated() {
        let timed_out = [iteration_started(1), iteration_ended(1, IterationStatus::TimedOut), iteration_started(2)];
        assert_eq!(collect_records(&timed_out)[0].reason, "the iteration timed out");
        let over = run_finished(Outcome::OverBudget, "$5.00 of $5.00 spent");
        let over =
            [iteration_started(1), attempt_ended(1, None, None), iteration_ended(1, IterationStatus::Failed), over];
        assert_eq!(collect_records(&over)[0].reason, "$5.00 of $5.00 spent");
        let long = [
            iteration_started(1),
            claim_made(1, false, &"ü".repeat(900)),
            iteration_ended(1, IterationStatus::Finished),
            iteration_started(2),
        ];
        assert_eq!(collect_records(&long)[0].reason.len(), 1_000);
    }

    // finding: N33
    #[test]
    fn only_a_check_that_verifies_more_than_the_claim_makes_a_record_verified() {
        let record_with = |checks: Vec<CheckEvidence>| {
            let verdict =
                Fact::Verdict { iteration: 1, verdict: Verdict::Accepted, reason: "fine".to_string(), checks };
            let facts = [
                iteration_started(1),
                claim_made(1, true, "on line 3"),
                verdict,
                iteration_ended(1, IterationStatus::Finished),
                iteration_started(2),
            ];
            collect_records(&facts).remove(0).verified
        };
        let check = |kind| CheckEvidence::without_output(kind, "x".into(), Verdict::Accepted, "so".into());
        assert!(record_with([check(EvidenceKind::External)].into()));
        assert!(!record_with([check(EvidenceKind::StringMatch), check(EvidenceKind::Seal)].into()));
        let fallback = CheckEvidence { unverified: true, ..check(EvidenceKind::Semantic) };
        assert!(!record_with([fallback].into()));
        assert!(!record_with(Vec::new()));
    }

    // finding: N33
    #[test]
    fn a_failed_attempt_keeps_its_own_reason() {
        let facts = |failure| {
            [
                iteration_started(1),
                attempt_ended(1, None, Some(failure)),
                claim_made(1, false, "the final message holds no promise tag"),
                iteration_ended(1, IterationStatus::Failed),
                iteration_started(2),
            ]
        };
        assert_eq!(collect_records(&facts("exit code 7"))[0].reason, "exit code 7");
        assert_eq!(collect_records(&facts("the iteration took too long"))[0].reason, "the iteration took too long");
    }
}
