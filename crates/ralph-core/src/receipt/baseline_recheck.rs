//! Compares the baseline of a receipt with a repetition of it, and derives the proof level that the repetition supports.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{BaselineResult, Proof, Receipt, ReceiptBaselineCheck};
use crate::baseline::{BaselineCheck, BaselineStatus};
use crate::evidence::{Evidence, Verdict};

/// The result of repeating the baseline on the files from which the work started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaselineRecheck {
    Finished(Vec<BaselineCheck>),
    NotRepeated { reason: String },
}

impl BaselineRecheck {
    /// Returns the results; none if it was not repeated.
    #[must_use]
    pub fn checks(&self) -> &[BaselineCheck] {
        match self {
            Self::Finished(checks) => checks,
            Self::NotRepeated { .. } => &[],
        }
    }

    /// Returns the required commands that failed before the work according to the receipt, and that pass there now.
    pub(super) fn passing_commands(&self, recorded: &[ReceiptBaselineCheck]) -> Vec<String> {
        let passes = |check: &BaselineCheck| {
            let command = &check.evidence.command;
            let same_command = self.checks().iter().filter(|other| other.evidence.command == *command);
            let position = same_command.take_while(|other| !core::ptr::eq(*other, check)).count();
            let before = recorded.iter().filter(|entry| entry.command == *command).nth(position);
            check.evidence.required
                && check.standing == BaselineStatus::ProvesNothing
                && before.is_some_and(|entry| entry.standing == BaselineStatus::Fails)
        };
        let passing = self.checks().iter().filter(|check| passes(check));
        passing.map(|check| check.evidence.command.clone()).collect()
    }

    /// Returns the proof level of the repeated checks. It is never above that of the receipt, which also counts what cannot
    /// be repeated: sealed files, protected tests, and the decision of a person.
    #[must_use]
    pub fn repeated_proof(&self, receipt: &Receipt, evidence: &Evidence) -> Proof {
        let recorded = receipt.findings.proof();
        let measured = match (evidence.verdict(), self) {
            (Verdict::Accepted, Self::Finished(checks)) => {
                let baseline: Vec<BaselineResult> = checks.iter().map(BaselineResult::from).collect();
                Proof::from_evidence(&evidence.checks, &baseline)
            }
            (Verdict::Accepted, Self::NotRepeated { reason }) => {
                let reason = format!("the baseline was not repeated: {reason}");
                Proof { reason, ..Proof::from_evidence(&evidence.checks, &[]) }
            }
            (Verdict::Rejected | Verdict::CouldNotEvaluate, _) => {
                Proof::of_unaccepted(&evidence.checks, &evidence.verdict_reason())
            }
        };
        if measured.level <= recorded.level {
            return measured;
        }
        Proof { reason: format!("the receipt has no higher level: {}", recorded.reason), ..recorded }
    }
}

/// Returns why the baseline of a receipt is not repeated, if there is nothing to compare with.
#[must_use]
pub fn reason_against_baseline_recheck(recorded: &[ReceiptBaselineCheck]) -> Option<String> {
    recorded.is_empty().then(|| "no check was run before the work".to_string())
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::baseline::{BaselineProblem, BaselineTrial};
    use crate::evidence::{CheckEvidence, EvidenceKind};
    use crate::receipt::recheck::tests::sample_receipt;
    use crate::receipt::{ProofLevel, ReceiptFindings};

    fn evidence(command: &str, verdict: Verdict) -> CheckEvidence {
        CheckEvidence::without_output(EvidenceKind::External, command.to_string(), verdict, "so".to_string())
    }

    fn repeated(command: &str, verdict: Verdict) -> BaselineCheck {
        let lack = BaselineProblem::NotFixableByAgent;
        BaselineCheck::from_trial(BaselineTrial { evidence: evidence(command, verdict), lack })
    }

    fn recorded(command: &str, standing: BaselineStatus) -> ReceiptBaselineCheck {
        ReceiptBaselineCheck { command: command.to_string(), standing }
    }

    fn receipt_of_level(level: ProofLevel) -> Receipt {
        let proof = Some(Proof { level, reason: "why".to_string(), is_judged: false });
        Receipt { findings: ReceiptFindings { proof, ..ReceiptFindings::default() }, ..sample_receipt() }
    }

    // spec: V16
    #[test]
    fn a_command_that_failed_according_to_the_receipt_and_passes_now_is_found() {
        let before = [recorded("make", BaselineStatus::Fails), recorded("make", BaselineStatus::ProvesNothing)];
        let found = |now: Vec<BaselineCheck>| BaselineRecheck::Finished(now).passing_commands(&before);
        assert_eq!(found(vec![repeated("make", Verdict::Accepted)]), ["make"]);
        assert!(found(vec![repeated("make", Verdict::Rejected), repeated("make", Verdict::Accepted)]).is_empty());
        assert!(found(vec![repeated("make", Verdict::CouldNotEvaluate)]).is_empty());
        assert!(found(vec![repeated("other", Verdict::Accepted)]).is_empty());
        let mut optional = repeated("make", Verdict::Accepted);
        optional.evidence.required = false;
        assert!(found(vec![optional]).is_empty());
    }

    // spec: V16
    #[test]
    fn the_repeated_level_depends_on_the_repeated_baseline() {
        let accepted = Evidence { checks: vec![evidence("make", Verdict::Accepted)] };
        let level = |now: BaselineRecheck| now.repeated_proof(&receipt_of_level(ProofLevel::Proven), &accepted).level;
        assert_eq!(level(BaselineRecheck::Finished(vec![repeated("make", Verdict::Rejected)])), ProofLevel::Proven);
        assert_eq!(level(BaselineRecheck::Finished(vec![repeated("make", Verdict::Accepted)])), ProofLevel::Checked);
        let gone = BaselineRecheck::NotRepeated { reason: "it is gone".to_string() };
        let proof = gone.repeated_proof(&receipt_of_level(ProofLevel::Proven), &accepted);
        assert_eq!(proof.describe(), "checked: the baseline was not repeated: it is gone");
    }

    // spec: V16
    #[test]
    fn the_repeated_level_is_never_above_that_of_the_receipt() {
        let accepted = Evidence { checks: vec![evidence("make", Verdict::Accepted)] };
        let again = BaselineRecheck::Finished(vec![repeated("make", Verdict::Rejected)]);
        let proof = again.repeated_proof(&receipt_of_level(ProofLevel::Checked), &accepted);
        assert_eq!(proof.describe(), "checked: the receipt has no higher level: why");
        let rejected = Evidence { checks: vec![evidence("make", Verdict::Rejected)] };
        let proof = again.repeated_proof(&receipt_of_level(ProofLevel::Proven), &rejected);
        assert_eq!(proof.level, ProofLevel::Unverified);
    }
}
