//! The execution log: one record for each iteration of a stage, made of the facts of its run.
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::attempt::Spend;
use crate::event::Millis;
use crate::evidence::{Verdict, spend_of};
use crate::fact::{Fact, IterationStatus};
use crate::text::head_of;

/// A longer reason is cut: a record must fit into one write.
const LONGEST_REASON: usize = 1_000;

/// One iteration, as the execution log has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub task_id: String,
    pub stage: String,
    pub ralph_iteration: u32,
    pub ralph_max: u32,
    /// Whether the agent claimed completion.
    pub promise_found: bool,
    /// Whether evidence stands behind the claim.
    pub verified: bool,
    /// Whether another iteration follows.
    pub continuing: bool,
    pub status: IterationStatus,
    pub reason: String,
    pub duration_ms: u64,
    /// With retries and judges, as far as it is known.
    pub cost_usd: Option<f64>,
    pub run: String,
    /// When the iteration ended, RFC 3339.
    pub at: String,
}

/// What a record says beside what the facts tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    pub task: String,
    pub role: String,
    pub run: String,
    pub max_iterations: u32,
}

/// Makes records of facts, which it is told one by one.
#[derive(Debug, Clone)]
pub struct Writer {
    stage: Stage,
    /// Shows a time as a record has it.
    shown: fn(Millis) -> String,
    now: Now,
    /// The iteration that has ended. The next fact tells what follows it.
    ended: Option<Record>,
}

/// What is known of the iteration in progress.
#[derive(Debug, Clone, Default)]
struct Now {
    promise_found: bool,
    verified: bool,
    reason: String,
    spent: Spend,
}

impl Writer {
    #[must_use]
    pub fn new(stage: Stage, shown: fn(Millis) -> String) -> Self {
        Self { stage, shown, now: Now::default(), ended: None }
    }

    /// Takes note of the next fact, and returns the record that is complete with it. An iteration that was cut short has
    /// none: it is not over.
    pub fn heed(&mut self, at: Millis, fact: &Fact) -> Option<Record> {
        // A receipt stands between the last iteration and the end.
        if let Fact::Receipt { .. } = fact {
            return None;
        }
        let complete = self.ended.take().map(|record| followed_by(record, fact));
        self.note(at, fact);
        complete
    }

    fn note(&mut self, at: Millis, fact: &Fact) {
        match fact {
            Fact::IterationStarted { .. } => self.now = Now::default(),
            Fact::AttemptEnded { result, .. } => {
                self.now.spent = self.now.spent.plus(result.spend);
                self.now.reason = result.failure.clone().unwrap_or_default();
            }
            Fact::Claim { claim, .. } => {
                (self.now.promise_found, self.now.reason) = (claim.claimed, claim.why.clone());
            }
            Fact::Verdict { verdict, reason, checks, .. } => {
                (self.now.verified, self.now.reason) = (*verdict == Verdict::Accepted, reason.clone());
                self.now.spent = self.now.spent.plus(spend_of(checks).unwrap_or_default());
            }
            Fact::IterationEnded { status: IterationStatus::Interrupted, .. } => {}
            Fact::IterationEnded { iteration, status, duration_ms } => {
                self.ended = Some(self.record((*iteration, *status), *duration_ms, at));
            }
            Fact::RunStarted { .. }
            | Fact::RunSealed { .. }
            | Fact::Baseline { .. }
            | Fact::RunResumed { .. }
            | Fact::RunPaused { .. }
            | Fact::RunGuided { .. }
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

    fn record(&self, (iteration, status): (u32, IterationStatus), duration_ms: u64, at: Millis) -> Record {
        Record {
            task_id: self.stage.task.clone(),
            stage: self.stage.role.clone(),
            ralph_iteration: iteration,
            ralph_max: self.stage.max_iterations,
            promise_found: self.now.promise_found,
            verified: self.now.verified,
            continuing: true,
            status,
            reason: reason_of(status, &self.now.reason),
            duration_ms,
            cost_usd: self.now.spent.dollars(),
            run: self.stage.run.clone(),
            at: (self.shown)(at),
        }
    }
}

fn reason_of(status: IterationStatus, told: &str) -> String {
    match (status, told) {
        (IterationStatus::TimedOut, "") => "the iteration timed out".to_string(),
        (_, told) => head_of(told, LONGEST_REASON).to_string(),
    }
}

/// The last iteration of a run that has no reason of its own has that of the end.
fn followed_by(record: Record, fact: &Fact) -> Record {
    let Fact::RunFinished { reason: end, .. } = fact else { return record };
    let told = if record.reason.is_empty() { end } else { &record.reason };
    Record { reason: reason_of(record.status, told), continuing: false, ..record }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use super::*;
    use crate::attempt::{Ending, Leftovers};
    use crate::fact::{AttemptResult, ClaimFact};
    use crate::outcome::Outcome;

    fn attempt(iteration: u32, micros: Option<u64>, failure: Option<&str>) -> Fact {
        let result = AttemptResult {
            status: IterationStatus::Finished,
            ending: Ending::Exited { code: 0 },
            failure: failure.map(ToString::to_string),
            session: None,
            model: None,
            messages: None,
            spend: Spend { cost_micros: micros, ..Spend::default() },
            final_text: String::new(),
            stderr_tail: String::new(),
            leftovers: Leftovers::default(),
            unknown_records: 0,
        };
        Fact::AttemptEnded { iteration, attempt: 1, result }
    }

    fn claim(iteration: u32, claimed: bool, why: &str) -> Fact {
        Fact::Claim { iteration, claim: ClaimFact { claimed, accepted: claimed, why: why.to_string() } }
    }

    fn verdict(iteration: u32, verdict: Verdict, reason: &str) -> Fact {
        Fact::Verdict { iteration, verdict, reason: reason.to_string(), checks: Vec::new() }
    }

    fn started(iteration: u32) -> Fact {
        Fact::IterationStarted { iteration }
    }

    fn ended(iteration: u32, status: IterationStatus) -> Fact {
        Fact::IterationEnded { iteration, status, duration_ms: 45_000 }
    }

    fn finished(outcome: Outcome, reason: &str) -> Fact {
        let reason = reason.to_string();
        Fact::RunFinished { outcome, reason, iterations: 1, exit_code: 0, spend: Spend::default() }
    }

    fn records(facts: &[Fact]) -> Vec<Record> {
        let stage = Stage { task: "T-1".into(), role: "coder".into(), run: "r".into(), max_iterations: 3 };
        let mut writer = Writer::new(stage, |at| format!("{}", at.0));
        facts.iter().filter_map(|fact| writer.heed(Millis(7), fact)).collect()
    }

    // spec: P8
    #[test]
    fn each_iteration_has_one_record_with_what_was_claimed_verified_and_spent() {
        let facts = [
            started(1),
            attempt(1, Some(10_000), None),
            claim(1, false, "no promise was found"),
            ended(1, IterationStatus::Finished),
            started(2),
            attempt(2, Some(20_000), Some("exit code 1")),
            attempt(2, Some(5_000), None),
            claim(2, true, "on line 3"),
            verdict(2, Verdict::Accepted, "External verification passed"),
            ended(2, IterationStatus::Finished),
            finished(Outcome::Completed, "verified"),
        ];
        let expected = |number: u32, is_done: bool| Record {
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
        assert_eq!(records(&facts), [expected(1, false), expected(2, true)]);
    }

    // spec: P8
    #[test]
    fn a_rejected_claim_is_found_and_not_verified_and_an_unknown_cost_is_unknown() {
        let facts = [
            started(1),
            attempt(1, None, None),
            claim(1, true, "on line 3"),
            verdict(1, Verdict::Rejected, "Command exited with 1, expected 0"),
            ended(1, IterationStatus::Finished),
            started(2),
        ];
        let [record] = records(&facts).try_into().unwrap();
        assert_eq!((record.promise_found, record.verified, record.cost_usd), (true, false, None));
        assert_eq!(record.reason, "Command exited with 1, expected 0");
    }

    // spec: P8, L13
    #[test]
    fn an_iteration_that_was_cut_short_has_its_record_when_it_is_over() {
        let cut = [
            started(1),
            attempt(1, Some(10_000), None),
            ended(1, IterationStatus::Interrupted),
            finished(Outcome::Interrupted, "stopped by Ctrl-C"),
        ];
        assert_eq!(records(&cut), []);
        let rest = [
            attempt(1, Some(10_000), None),
            claim(1, false, "no promise was found"),
            ended(1, IterationStatus::Finished),
            finished(Outcome::Exhausted, "Max iterations reached without completion promise"),
        ];
        let [record] = records(&[&cut[..], &rest[..]].concat()).try_into().unwrap();
        assert_eq!((record.ralph_iteration, record.continuing, record.cost_usd), (1, false, Some(0.02)));
    }

    // spec: P8
    #[test]
    fn an_iteration_without_words_says_that_it_timed_out_or_why_the_run_ended_and_a_long_reason_is_cut() {
        let timed_out = [started(1), ended(1, IterationStatus::TimedOut), started(2)];
        assert_eq!(records(&timed_out)[0].reason, "the iteration timed out");
        let over = finished(Outcome::OverBudget, "$5.00 of $5.00 are spent");
        let over = [started(1), attempt(1, None, None), ended(1, IterationStatus::Failed), over];
        assert_eq!(records(&over)[0].reason, "$5.00 of $5.00 are spent");
        let long =
            [started(1), claim(1, false, &"ü".repeat(900)), ended(1, IterationStatus::Finished), started(2)];
        assert_eq!(records(&long)[0].reason.len(), 1_000);
    }
}
