//! One check as a receipt has it: the evidence without its output, of which the digest stays.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, Judgement, Kind, Verdict};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    pub method: Kind,
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
    pub judgement: Option<Judgement>,
    pub stages: Vec<Checked>,
}

impl From<&CheckEvidence> for Checked {
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

impl Checked {
    /// Tells whether it says more than the agent's own word. That nothing was tampered with, and that it is committed, says
    /// nothing about the work; neither does a judge that was not asked.
    #[must_use]
    pub fn is_proof(&self) -> bool {
        let says = match self.method {
            Kind::External | Kind::Plugin => true,
            Kind::Semantic => self.judgement.is_some(),
            Kind::MultiStage => self.stages.iter().any(Self::is_proof),
            Kind::StringMatch | Kind::Seal | Kind::Commit => false,
        };
        says && !self.unverified && self.verdict == Verdict::Accepted
    }

    /// Tells whether another look came to the same verdict. What was optional may come out differently.
    pub(super) fn is_confirmed_by(&self, again: Option<&Self>) -> bool {
        let is_same = again.is_some_and(|again| {
            let mut stages = pairs(&self.stages, &again.stages);
            self.verdict == again.verdict && stages.all(|(stage, again)| stage.is_confirmed_by(again))
        });
        is_same || !self.required
    }

    /// Tells whether it looked at files alone, so that anybody can look again.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        match self.method {
            Kind::External => true,
            Kind::MultiStage => self.stages.iter().any(Self::is_repeatable),
            Kind::Semantic | Kind::Plugin | Kind::StringMatch | Kind::Seal | Kind::Commit => false,
        }
    }
}

/// Returns the checks that can be repeated, beside those of another look in the same order, as far as it went.
pub(super) fn pairs<'a>(
    checks: &'a [Checked],
    again: &'a [Checked],
) -> impl Iterator<Item = (&'a Checked, Option<&'a Checked>)> {
    let again = again.iter().map(Some).chain(core::iter::repeat(None));
    checks.iter().filter(|check| check.is_repeatable()).zip(again)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    fn seen(method: Kind, verdict: Verdict) -> CheckEvidence {
        CheckEvidence::plain(method, "make".to_string(), verdict, "so".to_string())
    }

    // spec: V14
    #[test]
    fn the_agents_own_word_is_no_proof_whatever_it_is_called() {
        let proof = |evidence: &CheckEvidence| Checked::from(evidence).is_proof();
        assert!(
            proof(&seen(Kind::External, Verdict::Accepted)) && proof(&seen(Kind::Plugin, Verdict::Accepted))
        );
        for method in [Kind::StringMatch, Kind::Seal, Kind::Commit, Kind::Semantic, Kind::MultiStage] {
            assert!(!proof(&seen(method, Verdict::Accepted)), "{method:?}");
        }
        assert!(!proof(&seen(Kind::External, Verdict::Rejected)));
        let judgement = Judgement { judge: "claude".to_string(), model: None, findings: Vec::new() };
        assert!(proof(&CheckEvidence {
            judgement: Some(judgement),
            ..seen(Kind::Semantic, Verdict::Accepted)
        }));
        let staged = |stages| CheckEvidence { stages, ..seen(Kind::MultiStage, Verdict::Accepted) };
        assert!(!proof(&staged(vec![seen(Kind::StringMatch, Verdict::Accepted)])));
        assert!(proof(&staged(vec![seen(Kind::External, Verdict::Accepted)])));
    }

    // spec: V14
    #[test]
    fn another_look_confirms_what_came_to_the_same_verdict() {
        let named = |name: &str, verdict| CheckEvidence {
            name: Some(name.to_string()),
            ..seen(Kind::External, verdict)
        };
        let staged =
            |stages| Checked::from(&CheckEvidence { stages, ..seen(Kind::MultiStage, Verdict::Accepted) });
        let judged = CheckEvidence { name: Some("b".to_string()), ..seen(Kind::Semantic, Verdict::Accepted) };
        let first = staged(vec![named("a", Verdict::Accepted), judged]);
        assert!(
            first.is_confirmed_by(Some(&staged(vec![named("a", Verdict::Accepted)]))),
            "no judge is asked again"
        );
        assert!(!first.is_confirmed_by(Some(&staged(vec![named("a", Verdict::Rejected)]))));
        assert!(!first.is_confirmed_by(Some(&staged(vec![]))), "what can be repeated must be");
    }

    // spec: V14
    #[test]
    fn an_optional_stage_may_come_out_differently() {
        let optional = |verdict| CheckEvidence { required: false, ..seen(Kind::External, verdict) };
        let staged =
            |stages| Checked::from(&CheckEvidence { stages, ..seen(Kind::MultiStage, Verdict::Accepted) });
        let first = staged(vec![optional(Verdict::Rejected)]);
        assert!(first.is_confirmed_by(Some(&staged(vec![optional(Verdict::Accepted)]))));
    }
}
