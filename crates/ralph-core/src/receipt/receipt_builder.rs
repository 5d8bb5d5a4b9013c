//! Builds the receipt of a run from its facts.
use alloc::string::String;
use alloc::vec::Vec;

use super::{Proof, RECEIPT_VERSION, Receipt, ReceiptBaselineCheck, ReceiptCheck, ReceiptFindings, ReceiptInput};
use crate::attempt::ModelSpend;
use crate::baseline::BaselineCheck;
use crate::evidence::Verdict;
use crate::fact::{AttemptResult, Fact};
use crate::outcome::Outcome;

/// Collects the findings, fact by fact.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReceiptBuilder {
    findings: ReceiptFindings,
    /// The checks of the last claim, if they did not accept it.
    unaccepted_checks: Vec<ReceiptCheck>,
}

/// The end of a run that was completed.
#[derive(Debug, Clone, Copy)]
pub struct CompletedRun<'a> {
    pub reason: &'a str,
    pub iterations: u32,
    pub spend: ModelSpend,
    pub proof: Option<&'a Proof>,
}

impl<'a> CompletedRun<'a> {
    /// Returns the end of the run if this fact completes it.
    #[must_use]
    pub fn from_fact(fact: &'a Fact) -> Option<Self> {
        let Fact::RunFinished { outcome: Outcome::Completed, reason, iterations, spend, proof, .. } = fact else {
            return None;
        };
        Some(Self { reason, iterations: *iterations, spend: *spend, proof: proof.as_ref() })
    }
}

impl ReceiptBuilder {
    /// Processes the next fact.
    pub fn observe_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::RunStarted { kind, agent, promise, .. } => {
                let (kind, agent, promise) = (kind.clone(), agent.clone(), promise.clone());
                self.findings = ReceiptFindings { kind, agent, promise, ..ReceiptFindings::default() };
            }
            Fact::RunSealed { seal } => self.findings.seal = Some(seal.digest.clone()),
            Fact::Baseline { checks } => self.findings.baseline = checks.iter().map(baseline_entry).collect(),
            Fact::AgentChanged { agent, .. } => self.findings.agent.clone_from(agent),
            Fact::IterationStarted { .. } => self.reset_iteration(),
            Fact::AttemptEnded { result, .. } => self.record_attempt(result),
            Fact::Claim { claim, .. } => self.findings.claim.clone_from(&claim.why),
            Fact::Verdict { verdict: Verdict::Accepted, checks, .. } => {
                self.findings.checks = checks.iter().map(ReceiptCheck::from).collect();
            }
            Fact::Verdict { verdict: Verdict::Rejected | Verdict::CouldNotEvaluate, checks, .. } => {
                self.unaccepted_checks = checks.iter().map(ReceiptCheck::from).collect();
            }
            Fact::RunAccepted { accepted_by, .. } => {
                self.findings.accepted_by = Some(accepted_by.clone());
                self.findings.checks = core::mem::take(&mut self.unaccepted_checks);
            }
            Fact::RunResumed { .. }
            | Fact::AttemptStarted { .. }
            | Fact::RetryScheduled { .. }
            | Fact::LimitWaiting { .. }
            | Fact::SessionFresh { .. }
            | Fact::RunPaused { .. }
            | Fact::RunGuided { .. }
            | Fact::AgentReported { .. }
            | Fact::LimitsChanged { .. }
            | Fact::AgentWaiting { .. }
            | Fact::StandingGuidance { .. }
            | Fact::RunRejected { .. }
            | Fact::IterationEnded { .. }
            | Fact::StopRequested { .. }
            | Fact::Receipt { .. }
            | Fact::RunFinished { .. } => {}
        }
    }

    /// Returns the receipt of a completed run.
    #[must_use]
    pub fn build_receipt(&self, end: &CompletedRun<'_>, input: ReceiptInput) -> Receipt {
        Receipt { version: RECEIPT_VERSION, input, findings: self.build_findings(end) }
    }

    /// Returns whether a receipt matches the facts.
    #[must_use]
    pub fn matches_receipt(&self, end: &CompletedRun<'_>, receipt: &Receipt) -> bool {
        self.build_findings(end) == receipt.findings
    }

    fn reset_iteration(&mut self) {
        self.findings.claim = String::new();
        self.findings.checks = Vec::new();
        self.unaccepted_checks = Vec::new();
        (self.findings.model, self.findings.session) = (None, None);
    }

    fn record_attempt(&mut self, result: &AttemptResult) {
        self.findings.model.clone_from(&result.model);
        self.findings.session.clone_from(&result.session);
    }

    fn build_findings(&self, end: &CompletedRun<'_>) -> ReceiptFindings {
        ReceiptFindings {
            is_verified: self.findings.checks.iter().any(ReceiptCheck::verifies_work),
            proof: end.proof.cloned(),
            reason: end.reason.into(),
            iterations: end.iterations,
            spend: end.spend,
            ..self.findings.clone()
        }
    }
}

fn baseline_entry(check: &BaselineCheck) -> ReceiptBaselineCheck {
    ReceiptBaselineCheck { command: check.evidence.command.clone(), standing: check.standing }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::baseline::{BaselineProblem, BaselineStatus, BaselineTrial};
    use crate::evidence::{CheckEvidence, EvidenceKind};
    use crate::fact::ClaimFact;
    use crate::step::tests::builders::sample_seal;

    fn run_started() -> Fact {
        Fact::RunStarted {
            kind: "run".to_string(),
            agent: "text".to_string(),
            promise: "DONE".to_string(),
            max_iterations: 3,
            checks: Vec::new(),
            permissions: None,
        }
    }

    fn claim_made(iteration: u32, why: &str) -> Fact {
        Fact::Claim {
            iteration,
            claim: ClaimFact { claimed: true, accepted: true, why: why.to_string(), contradiction: None },
        }
    }

    fn verdict_given(iteration: u32, verdict: Verdict) -> Fact {
        let check =
            CheckEvidence::without_output(EvidenceKind::External, "make".to_string(), verdict, "so".to_string());
        Fact::Verdict { iteration, verdict, reason: "so".to_string(), checks: [check].into() }
    }

    fn run_finished() -> Fact {
        Fact::RunFinished {
            outcome: Outcome::Completed,
            reason: "1 check passed".to_string(),
            iterations: 2,
            exit_code: 0,
            spend: ModelSpend::default(),
            proof: Some(Proof::by_claim_alone()),
        }
    }

    fn receipt_input() -> ReceiptInput {
        ReceiptInput {
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

    fn builder_after(facts: &[Fact]) -> ReceiptBuilder {
        let mut builder = ReceiptBuilder::default();
        facts.iter().for_each(|fact| builder.observe_fact(fact));
        builder
    }

    fn accepted_run_facts() -> [Fact; 7] {
        [
            run_started(),
            Fact::IterationStarted { iteration: 1 },
            claim_made(1, "first"),
            verdict_given(1, Verdict::Rejected),
            Fact::IterationStarted { iteration: 2 },
            claim_made(2, "second"),
            verdict_given(2, Verdict::Accepted),
        ]
    }

    // spec: V14
    #[test]
    fn a_receipt_contains_the_claim_and_the_checks_that_completed_the_run() {
        let finished = run_finished();
        let receipt = builder_after(&accepted_run_facts())
            .build_receipt(&CompletedRun::from_fact(&finished).unwrap(), receipt_input());
        assert_eq!((receipt.findings.claim.as_str(), receipt.findings.checks.len()), ("second", 1));
        assert!(receipt.findings.is_verified);
        assert_eq!(receipt.findings.reason, "1 check passed");
    }

    // spec: V14
    #[test]
    fn a_receipt_without_checks_is_unverified() {
        let finished = run_finished();
        let facts = [run_started(), Fact::IterationStarted { iteration: 1 }, claim_made(1, "said so")];
        assert!(
            !builder_after(&facts)
                .build_receipt(&CompletedRun::from_fact(&finished).unwrap(), receipt_input())
                .findings
                .is_verified
        );
    }

    // spec: V14
    #[test]
    fn a_forged_receipt_does_not_match_the_journal() {
        let finished = run_finished();
        let end = CompletedRun::from_fact(&finished).unwrap();
        let builder = builder_after(&accepted_run_facts());
        let mut receipt = builder.build_receipt(&end, receipt_input());
        assert!(builder.matches_receipt(&end, &receipt));
        receipt.findings.checks[0].exit_code = Some(0);
        assert!(!builder.matches_receipt(&end, &receipt));
    }

    // spec: V14, V8, V9
    #[test]
    fn a_receipt_contains_the_seal_and_the_baseline() {
        let finished = run_finished();
        let end = CompletedRun::from_fact(&finished).unwrap();
        let check = CheckEvidence::without_output(
            EvidenceKind::External,
            "make".to_string(),
            Verdict::Accepted,
            "passes already".to_string(),
        );
        let checks =
            [BaselineCheck::from_trial(BaselineTrial { evidence: check, lack: BaselineProblem::NotFixableByAgent })]
                .into();
        let mut facts = accepted_run_facts().to_vec();
        facts.splice(1..1, [Fact::RunSealed { seal: sample_seal() }, Fact::Baseline { checks }]);
        let builder = builder_after(&facts);
        let mut receipt = builder.build_receipt(&end, receipt_input());
        assert_eq!(receipt.findings.seal.as_deref(), Some(sample_seal().digest.as_str()));
        let [check] = &receipt.findings.baseline[..] else { panic!("{receipt:?}") };
        assert_eq!((check.command.as_str(), check.standing), ("make", BaselineStatus::ProvesNothing));
        receipt.findings.baseline.clear();
        assert!(!builder.matches_receipt(&end, &receipt), "the baseline cannot be omitted");
    }

    // spec: V14
    #[test]
    fn only_a_completion_has_a_receipt() {
        let Fact::RunFinished { reason, iterations, exit_code, spend, proof, .. } = run_finished() else { return };
        let failed = Fact::RunFinished { outcome: Outcome::Failed, reason, iterations, exit_code, spend, proof };
        assert!(CompletedRun::from_fact(&failed).is_none() && CompletedRun::from_fact(&run_started()).is_none());
    }

    // spec: V14
    #[test]
    fn a_receipt_is_read_back_unchanged() {
        let finished = run_finished();
        let receipt = builder_after(&accepted_run_facts())
            .build_receipt(&CompletedRun::from_fact(&finished).unwrap(), receipt_input());
        let stored = serde_json::to_string(&receipt).unwrap();
        assert_eq!(serde_json::from_str::<Receipt>(&stored).unwrap(), receipt);
    }
}
