//! Whether a list of facts can be the journal of a run. A file from elsewhere is held against it before it is
//! believed.
use crate::evidence::Verdict;
use crate::fact::{Fact, IterationStatus};
use crate::outcome::Outcome;
use crate::receipt::{self, Tally};

/// Why a list of facts is no journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    #[error("a journal begins with run.started")]
    NoBeginning,
    #[error("run.started stands only at the beginning")]
    TwoBeginnings,
    #[error("a run is sealed once, and has one baseline, before its first iteration")]
    SealedLate,
    #[error("iterations are numbered from 1 without gaps")]
    Gap,
    #[error("an iteration ends before it has begun, or twice")]
    EndWithoutBeginning,
    #[error("the run has finished, but its last iteration has not ended")]
    Unended,
    #[error("attempts belong to the iteration that is going on and are numbered from 1 without gaps")]
    Attempts,
    #[error("only run.resumed, or a cancel, follows run.finished, and only where the run was interrupted")]
    AfterTheEnd,
    #[error("run.finished counts other iterations than the journal holds")]
    Miscounted,
    #[error("the run is called completed, but no claim was accepted")]
    Unclaimed,
    #[error("the run is called completed, but its checks did not accept the claim")]
    Unproven,
    #[error(
        "a receipt stands right before the completion that it is of, and says what the facts before it say"
    )]
    Receipt,
}

/// What the facts so far amount to.
#[derive(Default)]
struct Reading {
    has_checks: bool,
    sealed: u32,
    baselines: u32,
    begun: u32,
    ended: u32,
    attempts: u32,
    claim_accepted: bool,
    proven: bool,
    /// The iteration that ended last was cut short.
    is_cut_short: bool,
    end: End,
}

/// Whether the run has ended, and for good.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    Interrupted,
    Final,
}

/// Holds facts against the rules of a journal.
pub fn check(facts: &[Fact]) -> Result<(), Unsound> {
    let Some((Fact::RunStarted { checks, .. }, rest)) = facts.split_first() else {
        return Err(Unsound::NoBeginning);
    };
    let mut reading = Reading { has_checks: !checks.is_empty(), ..Reading::default() };
    rest.iter().try_for_each(|fact| reading.read(fact))?;
    if receipts_agree(facts) { Ok(()) } else { Err(Unsound::Receipt) }
}

/// Tells whether every receipt says what the facts around it say.
fn receipts_agree(facts: &[Fact]) -> bool {
    let mut tally = Tally::default();
    let next = facts.iter().skip(1).map(Some).chain([None]);
    facts.iter().zip(next).all(|(fact, next)| {
        tally.heed(fact);
        let Fact::Receipt { receipt, .. } = fact else { return true };
        next.and_then(receipt::End::of).is_some_and(|end| tally.agrees(&end, receipt))
    })
}

impl Reading {
    fn read(&mut self, fact: &Fact) -> Result<(), Unsound> {
        match (self.end, fact) {
            (End::Open, _)
            | (
                End::Interrupted,
                Fact::RunResumed { .. } | Fact::RunFinished { outcome: Outcome::Cancelled, .. },
            ) => {}
            (End::Interrupted | End::Final, _) => return Err(Unsound::AfterTheEnd),
        }
        match fact {
            Fact::RunStarted { .. } => Err(Unsound::TwoBeginnings),
            Fact::RunResumed { .. } => {
                self.reopen();
                Ok(())
            }
            Fact::RunSealed { .. } => Self::prepare(self.begun, &mut self.sealed),
            Fact::Baseline { .. } => Self::prepare(self.begun, &mut self.baselines),
            Fact::AttemptStarted { iteration, attempt } => self.attempt(*iteration, *attempt),
            Fact::IterationStarted { iteration } => self.begin(*iteration),
            Fact::IterationEnded { iteration, status, .. } => self.end(*iteration, *status),
            Fact::Claim { claim, .. } => {
                self.claim_accepted = claim.accepted;
                Ok(())
            }
            Fact::Verdict { verdict, .. } => {
                self.proven = *verdict == Verdict::Accepted;
                Ok(())
            }
            Fact::RunFinished { outcome, iterations, .. } => self.finish(*outcome, *iterations),
            Fact::AttemptEnded { .. }
            | Fact::RetryScheduled { .. }
            | Fact::LimitWaiting { .. }
            | Fact::AgentChanged { .. }
            | Fact::SessionFresh { .. }
            | Fact::RunPaused { .. }
            | Fact::RunGuided { .. }
            | Fact::Receipt { .. }
            | Fact::StopRequested { .. } => Ok(()),
        }
    }

    fn prepare(begun: u32, so_far: &mut u32) -> Result<(), Unsound> {
        *so_far += 1;
        if begun == 0 && *so_far == 1 { Ok(()) } else { Err(Unsound::SealedLate) }
    }

    /// The iteration that a signal cut short goes on.
    fn reopen(&mut self) {
        if self.end == End::Interrupted && self.is_cut_short {
            self.ended = self.begun.saturating_sub(1);
        }
        self.end = End::Open;
    }

    fn attempt(&mut self, iteration: u32, attempt: u32) -> Result<(), Unsound> {
        let goes_on = iteration == self.begun && iteration == self.ended + 1;
        self.attempts += 1;
        if goes_on && attempt == self.attempts { Ok(()) } else { Err(Unsound::Attempts) }
    }

    fn begin(&mut self, iteration: u32) -> Result<(), Unsound> {
        if iteration != self.begun + 1 || self.ended != self.begun {
            return Err(Unsound::Gap);
        }
        *self = Self { begun: iteration, has_checks: self.has_checks, ended: self.ended, ..Self::default() };
        Ok(())
    }

    fn end(&mut self, iteration: u32, status: IterationStatus) -> Result<(), Unsound> {
        self.is_cut_short = status == IterationStatus::Interrupted;
        let expected = iteration == self.begun && iteration == self.ended + 1;
        self.ended = iteration;
        if expected { Ok(()) } else { Err(Unsound::EndWithoutBeginning) }
    }

    fn finish(&mut self, outcome: Outcome, iterations: u32) -> Result<(), Unsound> {
        self.end = if outcome == Outcome::Interrupted { End::Interrupted } else { End::Final };
        match outcome {
            _ if iterations != self.begun => Err(Unsound::Miscounted),
            _ if self.ended != self.begun => Err(Unsound::Unended),
            Outcome::Completed if !self.claim_accepted => Err(Unsound::Unclaimed),
            Outcome::Completed if self.has_checks && !self.proven => Err(Unsound::Unproven),
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
    use crate::attempt::Spend;
    use crate::fact::{ClaimFact, NextStep};
    use crate::step::scenes::seal;

    fn journal(verdict: Verdict) -> Vec<Fact> {
        let claim = ClaimFact { claimed: true, accepted: true, why: "said so".to_string() };
        [
            Fact::RunStarted {
                kind: "run".to_string(),
                agent: "text".to_string(),
                promise: "DONE".to_string(),
                max_iterations: 3,
                checks: ["make".to_string()].into(),
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
                spend: Spend::default(),
            },
        ]
        .into()
    }

    // spec: D4
    #[test]
    fn a_journal_that_ralph_wrote_is_sound_and_so_is_its_beginning() {
        let whole = journal(Verdict::Accepted);
        for length in 1..=whole.len() {
            assert_eq!(check(&whole[..length]), Ok(()));
        }
    }

    // spec: D4
    #[test]
    fn a_completion_without_claim_or_proof_is_no_journal() {
        assert_eq!(check(&journal(Verdict::Rejected)), Err(Unsound::Unproven));
        let mut unclaimed = journal(Verdict::Accepted);
        unclaimed.remove(2);
        assert_eq!(check(&unclaimed), Err(Unsound::Unclaimed));
    }

    fn interrupted() -> Fact {
        Fact::RunFinished {
            outcome: Outcome::Interrupted,
            reason: "so".to_string(),
            iterations: 1,
            exit_code: 130,
            spend: Spend::default(),
        }
    }

    fn resumed() -> Fact {
        Fact::RunResumed { iteration: 1, attempt: 2, next: NextStep::Agent, changed: Vec::new() }
    }

    // spec: D4, L13
    #[test]
    fn only_an_interrupted_run_goes_on_after_its_end_and_its_iteration_ends_again() {
        let whole = journal(Verdict::Accepted);
        let cut = Fact::IterationEnded { iteration: 1, status: IterationStatus::Interrupted, duration_ms: 1 };
        let attempt = |attempt| Fact::AttemptStarted { iteration: 1, attempt };
        let mut facts = Vec::from(&whole[..2]);
        facts.extend([attempt(1), cut, interrupted(), resumed(), attempt(2)]);
        facts.extend_from_slice(&whole[2..]);
        for length in 1..=facts.len() {
            assert_eq!(check(&facts[..length]), Ok(()), "{length}");
        }
        let without_word: Vec<Fact> =
            facts.iter().filter(|fact| !matches!(fact, Fact::RunResumed { .. })).cloned().collect();
        assert_eq!(check(&without_word), Err(Unsound::AfterTheEnd));
        facts.push(resumed());
        assert_eq!(check(&facts), Err(Unsound::AfterTheEnd));
    }

    // spec: D4, L13
    #[test]
    fn attempts_are_numbered_within_the_iteration_that_is_going_on() {
        let whole = journal(Verdict::Accepted);
        let with = |at: usize, iteration, attempt| {
            let mut facts = whole.clone();
            facts.insert(at, Fact::AttemptStarted { iteration, attempt });
            check(&facts)
        };
        assert_eq!(with(2, 1, 1), Ok(()));
        for (at, iteration, attempt) in [(2, 1, 2), (2, 2, 1), (1, 1, 1), (5, 1, 1)] {
            assert_eq!(with(at, iteration, attempt), Err(Unsound::Attempts), "{at} {iteration} {attempt}");
        }
    }

    // spec: D4, V9
    #[test]
    fn a_run_is_sealed_once_and_before_its_first_iteration() {
        let with = |at: &[usize]| {
            let mut facts = journal(Verdict::Accepted);
            for &at in at {
                facts.insert(at, Fact::RunSealed { seal: seal() });
                facts.insert(at, Fact::Baseline { checks: Vec::new() });
            }
            check(&facts)
        };
        assert_eq!(with(&[1]), Ok(()));
        assert_eq!(with(&[1, 1]), Err(Unsound::SealedLate));
        assert_eq!(with(&[2]), Err(Unsound::SealedLate));
    }

    // spec: D4
    #[test]
    fn gaps_repetitions_and_facts_after_the_end_are_no_journal() {
        let whole = || journal(Verdict::Accepted);
        let changed = |change: fn(&mut Vec<Fact>)| {
            let mut facts = whole();
            change(&mut facts);
            check(&facts)
        };
        assert_eq!(check(&[]), Err(Unsound::NoBeginning));
        assert_eq!(changed(|facts| drop(facts.remove(0))), Err(Unsound::NoBeginning));
        assert_eq!(changed(|facts| facts.insert(1, facts[0].clone())), Err(Unsound::TwoBeginnings));
        assert_eq!(changed(|facts| drop(facts.remove(1))), Err(Unsound::EndWithoutBeginning));
        assert_eq!(changed(|facts| facts.insert(1, facts[1].clone())), Err(Unsound::Gap));
        assert_eq!(changed(|facts| facts.push(facts[1].clone())), Err(Unsound::AfterTheEnd));
        assert_eq!(changed(|facts| drop(facts.drain(1..5))), Err(Unsound::Miscounted));
        assert_eq!(changed(|facts| drop(facts.remove(4))), Err(Unsound::Unended));
    }
}
