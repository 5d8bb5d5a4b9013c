//! Validates that a list of facts can be the journal of a run, for example before an import.
use crate::evidence::Verdict;
use crate::fact::{Fact, IterationStatus};
use crate::outcome::Outcome;
use crate::receipt::{self, ReceiptBuilder};

/// Why a list of facts is not a valid journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JournalViolation {
    #[error("the journal does not start with run.started")]
    MissingRunStarted,
    #[error("the journal contains run.started more than once")]
    DuplicateRunStarted,
    #[error("run.sealed or baseline occurs twice, or after the first iteration has started")]
    SealOutOfOrder,
    #[error("iterations are not numbered from 1 without gaps")]
    IterationGap,
    #[error("an iteration ends before it has started, or twice")]
    UnexpectedIterationEnd,
    #[error("the run has finished, but its last iteration has not ended")]
    UnendedIteration,
    #[error("attempts are not numbered from 1 without gaps within the current iteration")]
    AttemptNumbering,
    #[error(
        "run.finished is followed by a fact other than the resume or cancel of an interrupted run, the decision on a blocked one, or the continuation of one that reached a limit"
    )]
    FactAfterEnd,
    #[error("a person's decision does not follow the end of a blocked run")]
    DecisionWithoutClaim,
    #[error("the iteration count of run.finished does not match the journal")]
    IterationCountMismatch,
    #[error("the run is marked completed, but no claim was accepted")]
    CompletedWithoutClaim,
    #[error("the run is marked completed, but its checks did not accept the claim")]
    CompletedWithoutProof,
    #[error("a receipt does not match the facts before it, or is not followed by the completion of the run")]
    ReceiptMismatch,
}

/// The state after the facts so far.
#[derive(Default)]
struct JournalValidator {
    has_checks: bool,
    seal_count: u32,
    baseline_count: u32,
    iterations_begun: u32,
    iterations_ended: u32,
    attempts_begun: u32,
    is_claim_accepted: bool,
    is_proven: bool,
    /// The last ended iteration was interrupted.
    is_iteration_interrupted: bool,
    run_end: RunEndState,
}

/// Whether the run has ended, and whether it can be resumed.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum RunEndState {
    #[default]
    Open,
    Interrupted,
    /// A person may decide on the last claim, or continue the run.
    Blocked,
    /// A person may continue the run with other limits.
    Continuable,
    Final,
}

/// Checks that the facts form a valid journal.
pub fn check_facts(facts: &[Fact]) -> Result<(), JournalViolation> {
    let Some((Fact::RunStarted { checks, .. }, rest)) = facts.split_first() else {
        return Err(JournalViolation::MissingRunStarted);
    };
    let mut validator = JournalValidator { has_checks: !checks.is_empty(), ..JournalValidator::default() };
    rest.iter().try_for_each(|fact| validator.check_fact(fact))?;
    if receipts_match_facts(facts) { Ok(()) } else { Err(JournalViolation::ReceiptMismatch) }
}

/// Returns whether every receipt matches the facts around it.
fn receipts_match_facts(facts: &[Fact]) -> bool {
    let mut builder = ReceiptBuilder::default();
    let next = facts.iter().skip(1).map(Some).chain([None]);
    facts.iter().zip(next).all(|(fact, next)| {
        builder.observe_fact(fact);
        let Fact::Receipt { receipt, .. } = fact else { return true };
        next.and_then(receipt::CompletedRun::from_fact).is_some_and(|end| builder.matches_receipt(&end, receipt))
    })
}

impl JournalValidator {
    fn check_fact(&mut self, fact: &Fact) -> Result<(), JournalViolation> {
        match (self.run_end, fact) {
            (RunEndState::Open, _)
            | (
                RunEndState::Interrupted,
                Fact::RunResumed { .. } | Fact::RunFinished { outcome: Outcome::Cancelled, .. },
            )
            | (RunEndState::Blocked, Fact::RunAccepted { .. } | Fact::RunRejected { .. })
            | (RunEndState::Blocked | RunEndState::Continuable, Fact::RunGuided { .. } | Fact::LimitsChanged { .. }) => {
            }
            (RunEndState::Interrupted | RunEndState::Blocked | RunEndState::Continuable | RunEndState::Final, _) => {
                return Err(JournalViolation::FactAfterEnd);
            }
        }
        match fact {
            Fact::RunStarted { .. } => Err(JournalViolation::DuplicateRunStarted),
            Fact::RunResumed { .. } => {
                self.reopen_run();
                Ok(())
            }
            Fact::RunSealed { .. } => Self::count_preparation(self.iterations_begun, &mut self.seal_count),
            Fact::Baseline { .. } => Self::count_preparation(self.iterations_begun, &mut self.baseline_count),
            Fact::AttemptStarted { iteration, attempt } => self.begin_attempt(*iteration, *attempt),
            Fact::IterationStarted { iteration } => self.begin_iteration(*iteration),
            Fact::IterationEnded { iteration, status, .. } => self.end_iteration(*iteration, *status),
            Fact::Claim { claim, .. } => {
                self.is_claim_accepted = claim.accepted;
                Ok(())
            }
            Fact::Verdict { verdict, .. } => {
                self.is_proven = *verdict == Verdict::Accepted;
                Ok(())
            }
            Fact::RunAccepted { .. } | Fact::RunRejected { .. } if self.run_end == RunEndState::Open => {
                Err(JournalViolation::DecisionWithoutClaim)
            }
            Fact::RunAccepted { .. } => {
                (self.run_end, self.is_proven) = (RunEndState::Open, true);
                Ok(())
            }
            Fact::RunRejected { .. } | Fact::RunGuided { .. } | Fact::LimitsChanged { .. } => {
                self.run_end = RunEndState::Open;
                Ok(())
            }
            Fact::RunFinished { outcome, iterations, .. } => self.finish_run(*outcome, *iterations),
            Fact::AttemptEnded { .. }
            | Fact::AgentReported { .. }
            | Fact::RetryScheduled { .. }
            | Fact::LimitWaiting { .. }
            | Fact::AgentChanged { .. }
            | Fact::SessionFresh { .. }
            | Fact::RunPaused { .. }
            | Fact::StandingGuidance { .. }
            | Fact::AgentWaiting { .. }
            | Fact::Receipt { .. }
            | Fact::StopRequested { .. } => Ok(()),
        }
    }

    fn count_preparation(iterations_begun: u32, count: &mut u32) -> Result<(), JournalViolation> {
        *count += 1;
        if iterations_begun == 0 && *count == 1 { Ok(()) } else { Err(JournalViolation::SealOutOfOrder) }
    }

    /// Reopens the run, and the iteration that a signal interrupted.
    fn reopen_run(&mut self) {
        if self.run_end == RunEndState::Interrupted && self.is_iteration_interrupted {
            self.iterations_ended = self.iterations_begun.saturating_sub(1);
        }
        self.run_end = RunEndState::Open;
    }

    fn begin_attempt(&mut self, iteration: u32, attempt: u32) -> Result<(), JournalViolation> {
        let is_current = iteration == self.iterations_begun && iteration == self.iterations_ended + 1;
        self.attempts_begun += 1;
        if is_current && attempt == self.attempts_begun { Ok(()) } else { Err(JournalViolation::AttemptNumbering) }
    }

    fn begin_iteration(&mut self, iteration: u32) -> Result<(), JournalViolation> {
        if iteration != self.iterations_begun + 1 || self.iterations_ended != self.iterations_begun {
            return Err(JournalViolation::IterationGap);
        }
        *self = Self {
            iterations_begun: iteration,
            has_checks: self.has_checks,
            iterations_ended: self.iterations_ended,
            ..Self::default()
        };
        Ok(())
    }

    fn end_iteration(&mut self, iteration: u32, status: IterationStatus) -> Result<(), JournalViolation> {
        self.is_iteration_interrupted = status == IterationStatus::Interrupted;
        let is_current = iteration == self.iterations_begun && iteration == self.iterations_ended + 1;
        self.iterations_ended = iteration;
        if is_current { Ok(()) } else { Err(JournalViolation::UnexpectedIterationEnd) }
    }

    fn finish_run(&mut self, outcome: Outcome, iterations: u32) -> Result<(), JournalViolation> {
        self.run_end = match outcome {
            Outcome::Interrupted => RunEndState::Interrupted,
            Outcome::Blocked => RunEndState::Blocked,
            Outcome::Exhausted | Outcome::Stalled | Outcome::OverBudget => RunEndState::Continuable,
            Outcome::Completed | Outcome::Failed | Outcome::Cancelled => RunEndState::Final,
        };
        match outcome {
            _ if iterations != self.iterations_begun => Err(JournalViolation::IterationCountMismatch),
            _ if self.iterations_ended != self.iterations_begun => Err(JournalViolation::UnendedIteration),
            Outcome::Completed if !self.is_claim_accepted => Err(JournalViolation::CompletedWithoutClaim),
            Outcome::Completed if self.has_checks && !self.is_proven => Err(JournalViolation::CompletedWithoutProof),
            Outcome::Completed
            | Outcome::Exhausted
            | Outcome::Failed
            | Outcome::Stalled
            | Outcome::OverBudget
            | Outcome::Blocked
            | Outcome::Cancelled
            | Outcome::Interrupted => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;
    use crate::attempt::ModelSpend;
    use crate::decision::PersonDecision;
    use crate::fact::{ClaimFact, NextStep};
    use crate::step::tests::builders::sample_seal;

    fn sample_journal(verdict: Verdict) -> Vec<Fact> {
        let claim = ClaimFact { claimed: true, accepted: true, why: "on line 3".to_string(), contradiction: None };
        [
            Fact::RunStarted {
                kind: "run".to_string(),
                agent: "text".to_string(),
                promise: "DONE".to_string(),
                max_iterations: 3,
                checks: ["make".to_string()].into(),
                permissions: None,
            },
            Fact::IterationStarted { iteration: 1 },
            Fact::Claim { iteration: 1, claim },
            Fact::Verdict { iteration: 1, verdict, reason: "so".to_string(), checks: Vec::new() },
            Fact::IterationEnded { iteration: 1, status: IterationStatus::Finished, duration_ms: 1 },
            Fact::RunFinished {
                outcome: Outcome::Completed,
                reason: "so".to_string(),
                iterations: 1,
                exit_code: 0,
                spend: ModelSpend::default(),
                proof: None,
            },
        ]
        .into()
    }

    // spec: D4
    #[test]
    fn a_journal_and_every_prefix_of_it_are_valid() {
        let whole = sample_journal(Verdict::Accepted);
        for length in 1..=whole.len() {
            assert_eq!(check_facts(&whole[..length]), Ok(()));
        }
    }

    // spec: D4
    #[test]
    fn a_completion_without_claim_or_proof_is_invalid() {
        assert_eq!(check_facts(&sample_journal(Verdict::Rejected)), Err(JournalViolation::CompletedWithoutProof));
        let mut unclaimed = sample_journal(Verdict::Accepted);
        unclaimed.remove(2);
        assert_eq!(check_facts(&unclaimed), Err(JournalViolation::CompletedWithoutClaim));
    }

    fn run_interrupted() -> Fact {
        Fact::RunFinished {
            outcome: Outcome::Interrupted,
            reason: "so".to_string(),
            iterations: 1,
            exit_code: 130,
            spend: ModelSpend::default(),
            proof: None,
        }
    }

    // spec: D4, V17
    #[test]
    fn a_person_decides_only_after_the_end_of_a_blocked_run() {
        let by = PersonDecision { user: "anna".to_string(), at: "now".to_string(), because: None };
        let accepted = Fact::RunAccepted { iteration: 1, commit: None, tree: "t".to_string(), accepted_by: by.clone() };
        let rejected = Fact::RunRejected { iteration: 1, rejected_by: by };
        let mut facts = sample_journal(Verdict::Rejected);
        let completed = facts.pop().unwrap();
        let too_early = [facts.as_slice(), &[accepted.clone(), completed.clone()]].concat();
        assert_eq!(check_facts(&too_early), Err(JournalViolation::DecisionWithoutClaim));
        facts.push(Fact::RunFinished {
            outcome: Outcome::Blocked,
            reason: "so".to_string(),
            iterations: 1,
            exit_code: 6,
            spend: ModelSpend::default(),
            proof: None,
        });
        assert_eq!(check_facts(&[facts.as_slice(), &[accepted, completed.clone()]].concat()), Ok(()));
        assert_eq!(check_facts(&[facts.as_slice(), &[rejected, run_interrupted(), run_resumed()]].concat()), Ok(()));
        let undecided = [facts.as_slice(), &[completed]].concat();
        assert_eq!(check_facts(&undecided), Err(JournalViolation::FactAfterEnd));
    }

    fn run_resumed() -> Fact {
        Fact::RunResumed { iteration: 1, attempt: 2, next: NextStep::Agent, changed: Vec::new() }
    }

    // spec: D4, L13
    #[test]
    fn only_an_interrupted_run_can_be_resumed_and_its_iteration_ends_again() {
        let whole = sample_journal(Verdict::Accepted);
        let interrupted = Fact::IterationEnded { iteration: 1, status: IterationStatus::Interrupted, duration_ms: 1 };
        let attempt = |attempt| Fact::AttemptStarted { iteration: 1, attempt };
        let mut facts = Vec::from(&whole[..2]);
        facts.extend([attempt(1), interrupted, run_interrupted(), run_resumed(), attempt(2)]);
        facts.extend_from_slice(&whole[2..]);
        for length in 1..=facts.len() {
            assert_eq!(check_facts(&facts[..length]), Ok(()), "{length}");
        }
        let without_resume: Vec<Fact> =
            facts.iter().filter(|fact| !matches!(fact, Fact::RunResumed { .. })).cloned().collect();
        assert_eq!(check_facts(&without_resume), Err(JournalViolation::FactAfterEnd));
        facts.push(run_resumed());
        assert_eq!(check_facts(&facts), Err(JournalViolation::FactAfterEnd));
    }

    // spec: D4, L13
    #[test]
    fn attempts_are_numbered_within_the_current_iteration() {
        let whole = sample_journal(Verdict::Accepted);
        let with = |at: usize, iteration, attempt| {
            let mut facts = whole.clone();
            facts.insert(at, Fact::AttemptStarted { iteration, attempt });
            check_facts(&facts)
        };
        assert_eq!(with(2, 1, 1), Ok(()));
        for (at, iteration, attempt) in [(2, 1, 2), (2, 2, 1), (1, 1, 1), (5, 1, 1)] {
            assert_eq!(
                with(at, iteration, attempt),
                Err(JournalViolation::AttemptNumbering),
                "{at} {iteration} {attempt}"
            );
        }
    }

    // spec: D4, V9
    #[test]
    fn a_run_is_sealed_once_before_its_first_iteration() {
        let with = |at: &[usize]| {
            let mut facts = sample_journal(Verdict::Accepted);
            for &at in at {
                facts.insert(at, Fact::RunSealed { seal: sample_seal() });
                facts.insert(at, Fact::Baseline { checks: Vec::new() });
            }
            check_facts(&facts)
        };
        assert_eq!(with(&[1]), Ok(()));
        assert_eq!(with(&[1, 1]), Err(JournalViolation::SealOutOfOrder));
        assert_eq!(with(&[2]), Err(JournalViolation::SealOutOfOrder));
    }

    // spec: D4
    #[test]
    fn gaps_repetitions_and_facts_after_the_end_are_invalid() {
        let whole = || sample_journal(Verdict::Accepted);
        let changed = |change: fn(&mut Vec<Fact>)| {
            let mut facts = whole();
            change(&mut facts);
            check_facts(&facts)
        };
        assert_eq!(check_facts(&[]), Err(JournalViolation::MissingRunStarted));
        assert_eq!(changed(|facts| drop(facts.remove(0))), Err(JournalViolation::MissingRunStarted));
        assert_eq!(changed(|facts| facts.insert(1, facts[0].clone())), Err(JournalViolation::DuplicateRunStarted));
        assert_eq!(changed(|facts| drop(facts.remove(1))), Err(JournalViolation::UnexpectedIterationEnd));
        assert_eq!(changed(|facts| facts.insert(1, facts[1].clone())), Err(JournalViolation::IterationGap));
        assert_eq!(changed(|facts| facts.push(facts[1].clone())), Err(JournalViolation::FactAfterEnd));
        assert_eq!(changed(|facts| drop(facts.drain(1..5))), Err(JournalViolation::IterationCountMismatch));
        assert_eq!(changed(|facts| drop(facts.remove(4))), Err(JournalViolation::UnendedIteration));
    }
}
