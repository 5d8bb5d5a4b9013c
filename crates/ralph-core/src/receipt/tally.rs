//! What the facts of a run say about its completion, gathered fact by fact.
use alloc::string::String;
use alloc::vec::Vec;

use super::{Checked, Given, Receipt, Told, Tried, VERSION};
use crate::attempt::Spend;
use crate::baseline::BaselineCheck;
use crate::evidence::Verdict;
use crate::fact::{AttemptResult, Fact};
use crate::outcome::Outcome;

/// What is known so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    told: Told,
}

/// The end of a run that was completed.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    pub reason: &'a str,
    pub iterations: u32,
    pub spend: Spend,
}

impl<'a> End<'a> {
    /// Returns the end that this fact is, if it completes the run.
    #[must_use]
    pub fn of(fact: &'a Fact) -> Option<Self> {
        let Fact::RunFinished { outcome: Outcome::Completed, reason, iterations, spend, .. } = fact else {
            return None;
        };
        Some(Self { reason, iterations: *iterations, spend: *spend })
    }
}

impl Tally {
    /// Takes note of the next fact.
    pub fn heed(&mut self, fact: &Fact) {
        match fact {
            Fact::RunStarted { kind, agent, promise, .. } => {
                let (kind, agent, promise) = (kind.clone(), agent.clone(), promise.clone());
                self.told = Told { kind, agent, promise, ..Told::default() };
            }
            Fact::RunSealed { seal } => self.told.seal = Some(seal.digest.clone()),
            Fact::Baseline { checks } => self.told.baseline = checks.iter().map(tried).collect(),
            Fact::AgentChanged { agent, .. } => self.told.agent.clone_from(agent),
            Fact::IterationStarted { .. } => self.begin(),
            Fact::AttemptEnded { result, .. } => self.attempt(result),
            Fact::Claim { claim, .. } => self.told.claim.clone_from(&claim.why),
            Fact::Verdict { verdict: Verdict::Accepted, checks, .. } => {
                self.told.checks = checks.iter().map(Checked::from).collect();
            }
            Fact::Verdict { verdict: Verdict::Rejected | Verdict::CouldNotEvaluate, .. }
            | Fact::RunResumed { .. }
            | Fact::AttemptStarted { .. }
            | Fact::RetryScheduled { .. }
            | Fact::LimitWaiting { .. }
            | Fact::SessionFresh { .. }
            | Fact::RunPaused { .. }
            | Fact::RunGuided { .. }
            | Fact::IterationEnded { .. }
            | Fact::StopRequested { .. }
            | Fact::Receipt { .. }
            | Fact::RunFinished { .. } => {}
        }
    }

    /// Returns the receipt of a run that ends so.
    #[must_use]
    pub fn receipt(&self, end: &End<'_>, given: Given) -> Receipt {
        Receipt { version: VERSION, given, told: self.told(end) }
    }

    /// Tells whether a receipt says what the facts say.
    #[must_use]
    pub fn agrees(&self, end: &End<'_>, receipt: &Receipt) -> bool {
        self.told(end) == receipt.told
    }

    fn begin(&mut self) {
        self.told.claim = String::new();
        self.told.checks = Vec::new();
        (self.told.model, self.told.session) = (None, None);
    }

    fn attempt(&mut self, result: &AttemptResult) {
        self.told.model.clone_from(&result.model);
        self.told.session.clone_from(&result.session);
    }

    fn told(&self, end: &End<'_>) -> Told {
        Told {
            is_verified: self.told.checks.iter().any(Checked::is_proof),
            reason: end.reason.into(),
            iterations: end.iterations,
            spend: end.spend,
            ..self.told.clone()
        }
    }
}

fn tried(check: &BaselineCheck) -> Tried {
    Tried { command: check.evidence.command.clone(), standing: check.standing }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::baseline::{Lack, Standing, Trial};
    use crate::evidence::{CheckEvidence, Kind};
    use crate::fact::ClaimFact;
    use crate::step::scenes::seal;

    fn started() -> Fact {
        Fact::RunStarted {
            kind: "run".to_string(),
            agent: "text".to_string(),
            promise: "DONE".to_string(),
            max_iterations: 3,
            checks: Vec::new(),
        }
    }

    fn claim(iteration: u32, why: &str) -> Fact {
        Fact::Claim { iteration, claim: ClaimFact { claimed: true, accepted: true, why: why.to_string() } }
    }

    fn verdict(iteration: u32, verdict: Verdict) -> Fact {
        let check = CheckEvidence::plain(Kind::External, "make".to_string(), verdict, "so".to_string());
        Fact::Verdict { iteration, verdict, reason: "so".to_string(), checks: [check].into() }
    }

    fn finished() -> Fact {
        Fact::RunFinished {
            outcome: Outcome::Completed,
            reason: "1 check passed".to_string(),
            iterations: 2,
            exit_code: 0,
            spend: Spend::default(),
        }
    }

    fn given() -> Given {
        Given {
            run: "r".to_string(),
            task: None,
            role: None,
            criteria: Vec::new(),
            criteria_sha256: "0".to_string(),
            repository: None,
            agent_version: None,
            ralph: "1".to_string(),
            started_at: "then".to_string(),
            finished_at: "now".to_string(),
        }
    }

    fn tally(facts: &[Fact]) -> Tally {
        let mut tally = Tally::default();
        facts.iter().for_each(|fact| tally.heed(fact));
        tally
    }

    fn story() -> [Fact; 7] {
        [
            started(),
            Fact::IterationStarted { iteration: 1 },
            claim(1, "first"),
            verdict(1, Verdict::Rejected),
            Fact::IterationStarted { iteration: 2 },
            claim(2, "second"),
            verdict(2, Verdict::Accepted),
        ]
    }

    // spec: V14
    #[test]
    fn a_receipt_tells_of_the_claim_and_the_checks_that_completed_the_run() {
        let finished = finished();
        let receipt = tally(&story()).receipt(&End::of(&finished).unwrap(), given());
        assert_eq!((receipt.told.claim.as_str(), receipt.told.checks.len()), ("second", 1));
        assert!(receipt.told.is_verified);
        assert_eq!(receipt.told.reason, "1 check passed");
    }

    // spec: V14
    #[test]
    fn where_nothing_was_checked_the_receipt_says_unverified() {
        let finished = finished();
        let facts = [started(), Fact::IterationStarted { iteration: 1 }, claim(1, "said so")];
        assert!(!tally(&facts).receipt(&End::of(&finished).unwrap(), given()).told.is_verified);
    }

    // spec: V14
    #[test]
    fn a_forged_receipt_does_not_agree_with_the_journal() {
        let finished = finished();
        let end = End::of(&finished).unwrap();
        let known = tally(&story());
        let mut receipt = known.receipt(&end, given());
        assert!(known.agrees(&end, &receipt));
        receipt.told.checks[0].exit_code = Some(0);
        assert!(!known.agrees(&end, &receipt));
    }

    // spec: V14, V8, V9
    #[test]
    fn a_receipt_names_the_seal_and_what_the_checks_were_worth_before_the_work() {
        let finished = finished();
        let end = End::of(&finished).unwrap();
        let check = CheckEvidence::plain(
            Kind::External,
            "make".to_string(),
            Verdict::Accepted,
            "passes already".to_string(),
        );
        let checks = [BaselineCheck::of(Trial { evidence: check, lack: Lack::Else })].into();
        let mut facts = story().to_vec();
        facts.splice(1..1, [Fact::RunSealed { seal: seal() }, Fact::Baseline { checks }]);
        let known = tally(&facts);
        let mut receipt = known.receipt(&end, given());
        assert_eq!(receipt.told.seal.as_deref(), Some(seal().digest.as_str()));
        let [tried] = &receipt.told.baseline[..] else { panic!("{receipt:?}") };
        assert_eq!((tried.command.as_str(), tried.standing), ("make", Standing::ProvesNothing));
        receipt.told.baseline.clear();
        assert!(!known.agrees(&end, &receipt), "it cannot be left out");
    }

    // spec: V14
    #[test]
    fn only_a_completion_has_a_receipt() {
        let Fact::RunFinished { reason, iterations, exit_code, spend, .. } = finished() else { return };
        let failed = Fact::RunFinished { outcome: Outcome::Failed, reason, iterations, exit_code, spend };
        assert!(End::of(&failed).is_none() && End::of(&started()).is_none());
    }

    // spec: V14
    #[test]
    fn a_receipt_is_read_back_unchanged() {
        let finished = finished();
        let receipt = tally(&story()).receipt(&End::of(&finished).unwrap(), given());
        let stored = serde_json::to_string(&receipt).unwrap();
        assert_eq!(serde_json::from_str::<Receipt>(&stored).unwrap(), receipt);
    }
}
