//! One check as a receipt has it: the evidence without its output, of which the digest stays.
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
    /// Nobody could look, and the claim alone counted.
    pub unverified: bool,
    pub judgement: Option<JudgeReport>,
    pub stages: Vec<ReceiptCheck>,
}

impl From<&CheckEvidence> for ReceiptCheck {
    fn from(seen: &CheckEvidence) -> Self {
        Self {
            method: seen.method,
            name: seen.name.clone(),
            command: seen.command.clone(),
            verdict: seen.verdict,
            reason: seen.reason.clone(),
            exit_code: seen.exit_code,
            output_sha256: seen.digest.clone(),
            duration_ms: seen.duration_ms,
            required: seen.required,
            tries: seen.tries,
            cached: seen.cached,
            unverified: seen.unverified,
            judgement: seen.judgement.clone(),
            stages: seen.stages.iter().map(Self::from).collect(),
        }
    }
}

impl ReceiptCheck {
    /// Tells whether it says more than the agent's own word. That nothing was tampered with, and that it is committed, says
    /// nothing about the work; neither does a judge that was not asked.
    #[must_use]
    pub fn is_proof(&self) -> bool {
        let says = match self.method {
            EvidenceKind::External | EvidenceKind::Plugin => true,
            EvidenceKind::Semantic => self.judgement.is_some(),
            EvidenceKind::MultiStage => self.stages.iter().any(Self::is_proof),
            EvidenceKind::StringMatch | EvidenceKind::Seal | EvidenceKind::Commit => false,
        };
        says && !self.unverified && self.verdict == Verdict::Accepted
    }

    /// Tells whether another look came to the same verdict. What was optional may come out differently.
    pub(super) fn is_confirmed_by(&self, recheck: Option<&Self>) -> bool {
        let is_same = recheck.is_some_and(|again| {
            let mut stages = pair_repeatable_checks(&self.stages, &again.stages);
            self.verdict == again.verdict && stages.all(|(stage, again)| stage.is_confirmed_by(again))
        });
        is_same || !self.required
    }

    /// Tells whether it looked at files alone, so that anybody can look again.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        match self.method {
            EvidenceKind::External => true,
            EvidenceKind::MultiStage => self.stages.iter().any(Self::is_repeatable),
            EvidenceKind::Semantic
            | EvidenceKind::Plugin
            | EvidenceKind::StringMatch
            | EvidenceKind::Seal
            | EvidenceKind::Commit => false,
        }
    }
}

/// Returns the checks that can be repeated, beside those of another look in the same order, as far as it went.
pub(super) fn pair_repeatable_checks<'a>(
    checks: &'a [ReceiptCheck],
    recheck: &'a [ReceiptCheck],
) -> impl Iterator<Item = (&'a ReceiptCheck, Option<&'a ReceiptCheck>)> {
    let again = recheck.iter().map(Some).chain(core::iter::repeat(None));
    checks.iter().filter(|check| check.is_repeatable()).zip(again)
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
    fn the_agents_own_word_is_no_proof_whatever_it_is_called() {
        let proof = |evidence: &CheckEvidence| ReceiptCheck::from(evidence).is_proof();
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
        assert!(first.is_confirmed_by(Some(&staged(vec![named("a", Verdict::Accepted)]))), "no judge is asked again");
        assert!(!first.is_confirmed_by(Some(&staged(vec![named("a", Verdict::Rejected)]))));
        assert!(!first.is_confirmed_by(Some(&staged(vec![]))), "what can be repeated must be");
    }

    // spec: V14
    #[test]
    fn an_optional_stage_may_come_out_differently() {
        let optional = |verdict| CheckEvidence { required: false, ..evidence_of(EvidenceKind::External, verdict) };
        let staged = |stages| {
            ReceiptCheck::from(&CheckEvidence { stages, ..evidence_of(EvidenceKind::MultiStage, Verdict::Accepted) })
        };
        let first = staged(vec![optional(Verdict::Rejected)]);
        assert!(first.is_confirmed_by(Some(&staged(vec![optional(Verdict::Accepted)]))));
    }
}
