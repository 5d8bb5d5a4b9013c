//! One check in a receipt: its evidence, with the digest of the output instead of the output.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, EvidenceKind, JudgeReport, Verdict};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptCheck {
    pub method: EvidenceKind,
    pub name: Option<String>,
    pub command: String,
    pub verdict: Verdict,
    pub reason: String,
    pub exit_code: Option<i32>,
    pub output_sha256: Option<String>,
    pub duration_ms: u64,
    pub required: bool,
    pub tries: u32,
    pub cached: bool,
    /// Whether the check could not run and the claim alone was accepted.
    pub unverified: bool,
    /// The protected tests and deciding files that the work changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_tests: Vec<String>,
    pub judgement: Option<JudgeReport>,
    pub stages: Vec<ReceiptCheck>,
}

impl From<&CheckEvidence> for ReceiptCheck {
    fn from(evidence: &CheckEvidence) -> Self {
        Self {
            method: evidence.method,
            name: evidence.name.clone(),
            command: evidence.command.clone(),
            verdict: evidence.verdict,
            reason: evidence.reason.clone(),
            exit_code: evidence.exit_code,
            output_sha256: evidence.digest.clone(),
            duration_ms: evidence.duration_ms,
            required: evidence.required,
            tries: evidence.tries,
            cached: evidence.cached,
            unverified: evidence.unverified,
            changed_tests: evidence.changed_tests.clone(),
            judgement: evidence.judgement.clone(),
            stages: evidence.stages.iter().map(Self::from).collect(),
        }
    }
}

impl ReceiptCheck {
    /// Returns whether it verifies more than the agent's claim. An intact seal and a commit say nothing about the work,
    /// and neither does a judge that was not called.
    #[must_use]
    pub fn verifies_work(&self) -> bool {
        let verifies_work = match self.method {
            EvidenceKind::External | EvidenceKind::Plugin => true,
            EvidenceKind::Semantic => self.judgement.is_some(),
            EvidenceKind::MultiStage => self.stages.iter().any(Self::verifies_work),
            EvidenceKind::StringMatch | EvidenceKind::Seal | EvidenceKind::Commit | EvidenceKind::ProtectedTests => {
                false
            }
        };
        verifies_work && !self.unverified && self.verdict == Verdict::Accepted
    }

    /// Returns whether a recheck has the same verdict. Optional checks may have a different one.
    pub(super) fn is_confirmed_by(&self, recheck: Option<&Self>) -> bool {
        let is_same = recheck.is_some_and(|recheck| {
            let mut stages = pair_repeatable_checks(&self.stages, &recheck.stages);
            self.verdict == recheck.verdict && stages.all(|(stage, recheck)| stage.is_confirmed_by(recheck))
        });
        is_same || !self.required
    }

    /// Returns whether it depends only on files, so that it can be repeated.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        match self.method {
            EvidenceKind::External => true,
            EvidenceKind::MultiStage => self.stages.iter().any(Self::is_repeatable),
            EvidenceKind::Semantic
            | EvidenceKind::Plugin
            | EvidenceKind::StringMatch
            | EvidenceKind::Seal
            | EvidenceKind::Commit
            | EvidenceKind::ProtectedTests => false,
        }
    }
}

/// Pairs the repeatable checks with those of a recheck, in the same order. Missing ones are `None`.
pub(super) fn pair_repeatable_checks<'a>(
    checks: &'a [ReceiptCheck],
    recheck: &'a [ReceiptCheck],
) -> impl Iterator<Item = (&'a ReceiptCheck, Option<&'a ReceiptCheck>)> {
    let rechecked = recheck.iter().map(Some).chain(core::iter::repeat(None));
    checks.iter().filter(|check| check.is_repeatable()).zip(rechecked)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    fn evidence_of(method: EvidenceKind, verdict: Verdict) -> CheckEvidence {
        CheckEvidence::without_output(method, "make".to_string(), verdict, "so".to_string())
    }

    // spec: V14
    #[test]
    fn the_claim_of_the_agent_is_not_a_proof() {
        let proof = |evidence: &CheckEvidence| ReceiptCheck::from(evidence).verifies_work();
        assert!(
            proof(&evidence_of(EvidenceKind::External, Verdict::Accepted))
                && proof(&evidence_of(EvidenceKind::Plugin, Verdict::Accepted))
        );
        for method in [
            EvidenceKind::StringMatch,
            EvidenceKind::Seal,
            EvidenceKind::Commit,
            EvidenceKind::Semantic,
            EvidenceKind::MultiStage,
        ] {
            assert!(!proof(&evidence_of(method, Verdict::Accepted)), "{method:?}");
        }
        assert!(!proof(&evidence_of(EvidenceKind::External, Verdict::Rejected)));
        let judgement = JudgeReport { judge: "claude".to_string(), model: None, findings: Vec::new() };
        assert!(proof(&CheckEvidence {
            judgement: Some(judgement),
            ..evidence_of(EvidenceKind::Semantic, Verdict::Accepted)
        }));
        let staged = |stages| CheckEvidence { stages, ..evidence_of(EvidenceKind::MultiStage, Verdict::Accepted) };
        assert!(!proof(&staged(vec![evidence_of(EvidenceKind::StringMatch, Verdict::Accepted)])));
        assert!(proof(&staged(vec![evidence_of(EvidenceKind::External, Verdict::Accepted)])));
    }

    // spec: V14
    #[test]
    fn a_recheck_with_the_same_verdict_confirms_the_receipt() {
        let named = |name: &str, verdict| CheckEvidence {
            name: Some(name.to_string()),
            ..evidence_of(EvidenceKind::External, verdict)
        };
        let staged = |stages| {
            ReceiptCheck::from(&CheckEvidence { stages, ..evidence_of(EvidenceKind::MultiStage, Verdict::Accepted) })
        };
        let judged =
            CheckEvidence { name: Some("b".to_string()), ..evidence_of(EvidenceKind::Semantic, Verdict::Accepted) };
        let first = staged(vec![named("a", Verdict::Accepted), judged]);
        assert!(
            first.is_confirmed_by(Some(&staged(vec![named("a", Verdict::Accepted)]))),
            "judges are not called again"
        );
        assert!(!first.is_confirmed_by(Some(&staged(vec![named("a", Verdict::Rejected)]))));
        assert!(!first.is_confirmed_by(Some(&staged(vec![]))), "repeatable checks must be repeated");
    }

    // spec: V14
    #[test]
    fn an_optional_stage_may_have_a_different_verdict() {
        let optional = |verdict| CheckEvidence { required: false, ..evidence_of(EvidenceKind::External, verdict) };
        let staged = |stages| {
            ReceiptCheck::from(&CheckEvidence { stages, ..evidence_of(EvidenceKind::MultiStage, Verdict::Accepted) })
        };
        let first = staged(vec![optional(Verdict::Rejected)]);
        assert!(first.is_confirmed_by(Some(&staged(vec![optional(Verdict::Accepted)]))));
    }
}
