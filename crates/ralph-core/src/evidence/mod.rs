//! The evidence of checks and the verdict on it. Verifiers collect the evidence; only this module gives verdicts.
mod external;
mod plugin;
mod retries;
mod stages;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::ModelSpend;
use crate::criterion::criterion_label;

pub use external::{CheckEnding, OutputMatches, evaluate_command};
pub use plugin::{MAX_PLUGIN_ANSWER_BYTES, evaluate_plugin};
pub use retries::merge_retries;
pub use stages::{can_skip_remaining_stages, evaluate_stages};

/// The result of a check. `CouldNotEvaluate` is neither a pass nor a verified failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accepted,
    Rejected,
    CouldNotEvaluate,
}

impl Verdict {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::CouldNotEvaluate => "could_not_evaluate",
        }
    }
}

/// A verdict and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonedVerdict {
    pub verdict: Verdict,
    pub reason: String,
}

impl ReasonedVerdict {
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into() }
    }
}

/// The kind of evidence: the method of a criterion, or a check that ralph always makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    StringMatch,
    #[default]
    External,
    Semantic,
    MultiStage,
    Plugin,
    /// Whether the sealed files are unchanged since the run started.
    Seal,
    /// Whether the work is committed.
    Commit,
    /// Whether the checks also pass with the protected tests as they were before the work.
    ProtectedTests,
}

impl EvidenceKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StringMatch => "string_match",
            Self::External => "external",
            Self::Semantic => "semantic",
            Self::MultiStage => "multi_stage",
            Self::Plugin => "plugin",
            Self::Seal => "seal",
            Self::Commit => "commit",
            Self::ProtectedTests => "protected_tests",
        }
    }
}

/// The evidence of one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckEvidence {
    #[serde(default)]
    pub method: EvidenceKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The subject of the check in one line: for an external check, the command.
    pub command: String,
    pub verdict: Verdict,
    pub reason: String,
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    /// The end of the output, truncated and safe to print.
    pub tail: String,
    /// The path of the full output, relative to the run folder; empty if there is none.
    pub log: String,
    /// Descendants that the command left behind; they were killed.
    pub leftovers: u32,
    /// If false, a failure of this stage is only a warning.
    #[serde(default = "default_true", skip_serializing_if = "is_true")]
    pub required: bool,
    /// How often it was tried. A check that was accepted only after a retry is flaky.
    #[serde(default = "default_one", skip_serializing_if = "is_one")]
    pub tries: u32,
    /// Whether the result was reused from earlier in the run, because nothing that it depends on had changed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
    /// The SHA-256 of the full output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Whether the check could not run and the claim was accepted because of the user's `on_error` setting.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unverified: bool,
    /// Why this evidence limits the proof level of the claim to `checked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof_limit: Option<String>,
    /// The protected tests and deciding files that the work changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_tests: Vec<String>,
    /// The findings of a judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<JudgeReport>,
    /// The usage of the judge, including retries; `None` if no model was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<ModelSpend>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<CheckEvidence>,
}

/// The judge and its findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeReport {
    pub judge: String,
    pub model: Option<String>,
    pub findings: Vec<JudgeFinding>,
}

/// A judge's answer to one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeFinding {
    pub criterion: String,
    pub met: bool,
    /// The text that supports the finding.
    pub quotation: String,
    #[serde(default)]
    pub reason: String,
}

impl CheckEvidence {
    /// Returns whether this result, or the result of one of its stages, was reused.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.cached || self.stages.iter().any(Self::is_cached)
    }

    /// Returns evidence that has no output and took no time.
    #[must_use]
    pub fn without_output(method: EvidenceKind, command: String, verdict: Verdict, reason: String) -> Self {
        Self {
            method,
            name: None,
            command,
            verdict,
            reason,
            exit_code: None,
            duration_ms: 0,
            tail: String::new(),
            log: String::new(),
            leftovers: 0,
            required: true,
            tries: 1,
            cached: false,
            digest: None,
            unverified: false,
            proof_limit: None,
            changed_tests: Vec::new(),
            judgement: None,
            spend: None,
            stages: Vec::new(),
        }
    }

    /// Returns the label of the check in messages. `command` has the full text.
    #[must_use]
    pub fn display_name(&self) -> String {
        criterion_label(self.name.as_deref(), &self.command)
    }

    /// Returns whether it was accepted only after a retry.
    #[must_use]
    pub fn is_flaky(&self) -> bool {
        self.tries > 1 && self.verdict == Verdict::Accepted
    }
}

fn default_true() -> bool {
    true
}

fn default_one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(value: &u32) -> bool {
    *value == 1
}

/// The evidence for one claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub checks: Vec<CheckEvidence>,
}

impl CheckEvidence {
    /// Returns whether a judge was asked and gave no verdict. Only a judge that was asked has a spend.
    fn is_failed_judge(&self) -> bool {
        let mut undecided = self.stages.iter().filter(|stage| stage.verdict == Verdict::CouldNotEvaluate).peekable();
        match self.method {
            EvidenceKind::Semantic => self.verdict == Verdict::CouldNotEvaluate && self.spend.is_some(),
            EvidenceKind::MultiStage => undecided.peek().is_some() && undecided.all(Self::is_failed_judge),
            EvidenceKind::StringMatch
            | EvidenceKind::External
            | EvidenceKind::Plugin
            | EvidenceKind::Seal
            | EvidenceKind::Commit
            | EvidenceKind::ProtectedTests => false,
        }
    }
}

impl Evidence {
    /// Returns the verdict: accepted only if there is evidence and all of it accepts. A failed check takes precedence
    /// over one that could not be evaluated.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.checks.is_empty() {
            return Verdict::CouldNotEvaluate;
        }
        let any = |wanted: Verdict| self.checks.iter().any(|check| check.verdict == wanted);
        if any(Verdict::Rejected) {
            Verdict::Rejected
        } else if any(Verdict::CouldNotEvaluate) {
            Verdict::CouldNotEvaluate
        } else {
            Verdict::Accepted
        }
    }

    /// Returns the reason for the verdict, naming the check that decided.
    #[must_use]
    pub fn verdict_reason(&self) -> String {
        let verdict = self.verdict();
        match self.checks.iter().find(|check| check.verdict == verdict) {
            None => "there are no checks".to_string(),
            Some(_) if verdict == Verdict::Accepted => self.describe_acceptance(),
            Some(check) => match check.method {
                EvidenceKind::Seal | EvidenceKind::Commit | EvidenceKind::ProtectedTests => {
                    format!("{}: {}", check.command, check.reason)
                }
                EvidenceKind::StringMatch
                | EvidenceKind::External
                | EvidenceKind::Semantic
                | EvidenceKind::MultiStage
                | EvidenceKind::Plugin => {
                    format!("`{}`: {}", check.display_name(), check.reason)
                }
            },
        }
    }

    fn describe_acceptance(&self) -> String {
        let passed = match self.count_independent_checks() {
            0 => "by the agent's claim alone".to_string(),
            1 => "1 check passed".to_string(),
            count => format!("{count} checks passed"),
        };
        let changed: Vec<&str> =
            self.checks.iter().flat_map(|check| &check.changed_tests).map(String::as_str).collect();
        if changed.is_empty() { passed } else { format!("{passed}; the work changed {}", changed.join(", ")) }
    }

    /// Returns whether the claim is rejected because the checks fail with the protected tests as before the work.
    #[must_use]
    pub fn is_rejected_by_protected_tests(&self) -> bool {
        let decides = |check: &&CheckEvidence| check.verdict == Verdict::Rejected;
        self.checks.iter().find(decides).is_some_and(|check| check.method == EvidenceKind::ProtectedTests)
    }

    /// Returns whether the claim is undecided only because judges failed: the agent cannot change that.
    #[must_use]
    pub fn is_undecided_only_by_judges(&self) -> bool {
        let is_undecided = |check: &&CheckEvidence| check.required && check.verdict == Verdict::CouldNotEvaluate;
        self.verdict() == Verdict::CouldNotEvaluate
            && self.checks.iter().filter(is_undecided).all(CheckEvidence::is_failed_judge)
    }

    /// Returns whether this verdict can end the run as blocked, so that a person decides.
    #[must_use]
    pub fn may_need_person(&self) -> bool {
        self.is_rejected_by_protected_tests() || self.verdict() == Verdict::CouldNotEvaluate
    }

    /// Counts the checks that verify more than the claim.
    fn count_independent_checks(&self) -> usize {
        let is_claim_only = |kind: EvidenceKind| {
            matches!(kind, EvidenceKind::StringMatch | EvidenceKind::Seal | EvidenceKind::ProtectedTests)
        };
        self.checks.iter().filter(|check| !is_claim_only(check.method) && !check.unverified).count()
    }

    /// Returns the usage of all judges; `None` if none was called.
    #[must_use]
    pub fn judge_spend(&self) -> Option<ModelSpend> {
        sum_judge_spend(&self.checks)
    }

    /// Returns whether a result was reused.
    #[must_use]
    pub fn has_cached_results(&self) -> bool {
        self.checks.iter().any(CheckEvidence::is_cached)
    }

    /// Returns the end of the output of the deciding check.
    #[must_use]
    pub fn deciding_output_tail(&self) -> &str {
        let verdict = self.verdict();
        self.checks.iter().find(|check| check.verdict == verdict).map_or("", |check| check.tail.as_str())
    }
}

/// Sums the usage of the judges. The usage of a check with stages already includes its stages.
#[must_use]
pub fn sum_judge_spend(checks: &[CheckEvidence]) -> Option<ModelSpend> {
    checks.iter().filter_map(|check| check.spend).reduce(ModelSpend::add_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence_with_verdicts(verdicts: &[Verdict]) -> Evidence {
        let checks = verdicts.iter().map(|&verdict| {
            CheckEvidence::without_output(
                EvidenceKind::External,
                "make".to_string(),
                verdict,
                verdict.as_str().to_string(),
            )
        });
        Evidence { checks: checks.collect() }
    }

    #[test]
    fn a_claim_without_evidence_is_not_accepted() {
        assert_eq!(evidence_with_verdicts(&[]).verdict(), Verdict::CouldNotEvaluate);
    }

    #[test]
    fn one_failed_check_rejects_whatever_the_others_say() {
        use Verdict::{Accepted, CouldNotEvaluate, Rejected};
        assert_eq!(evidence_with_verdicts(&[Accepted, CouldNotEvaluate, Rejected]).verdict(), Rejected);
        assert_eq!(evidence_with_verdicts(&[Accepted, CouldNotEvaluate]).verdict(), CouldNotEvaluate);
        assert_eq!(evidence_with_verdicts(&[Accepted, Accepted]).verdict(), Accepted);
        assert_eq!(evidence_with_verdicts(&[Accepted, Rejected]).verdict_reason(), "`make`: rejected");
        assert_eq!(evidence_with_verdicts(&[Accepted, Accepted]).verdict_reason(), "2 checks passed");
        let mut claim_only = evidence_with_verdicts(&[Accepted, Accepted]);
        claim_only.checks[0].method = EvidenceKind::StringMatch;
        assert_eq!(claim_only.verdict_reason(), "1 check passed");
        claim_only.checks[1].unverified = true;
        assert_eq!(claim_only.verdict_reason(), "by the agent's claim alone");
    }

    // spec: V2
    #[test]
    fn a_reason_names_a_check_without_its_script() {
        let mut evidence = evidence_with_verdicts(&[Verdict::Rejected]);
        evidence.checks[0].command = "set -e\nfor file in a b; do test -e $file; done".to_string();
        assert_eq!(evidence.verdict_reason(), "`set -e …`: rejected");
        evidence.checks[0].name = Some("files-exist".to_string());
        assert_eq!(evidence.verdict_reason(), "`files-exist`: rejected");
        let seal = CheckEvidence::without_output(
            EvidenceKind::Seal,
            "the seal".to_string(),
            Verdict::Rejected,
            "broken".to_string(),
        );
        assert_eq!(Evidence { checks: [seal].into() }.verdict_reason(), "the seal: broken");
    }

    // spec: L8, V3
    #[test]
    fn judge_spend_is_summed_and_is_none_without_judges() {
        let mut evidence = evidence_with_verdicts(&[Verdict::Accepted, Verdict::Accepted, Verdict::Rejected]);
        assert_eq!(evidence.judge_spend(), None);
        let used = |tokens| Some(ModelSpend { input_tokens: Some(tokens), ..ModelSpend::default() });
        (evidence.checks[0].spend, evidence.checks[2].spend) = (used(3), used(4));
        assert_eq!(evidence.judge_spend(), used(7));
    }

    // spec: V11, V12
    #[test]
    fn stored_evidence_leaves_out_what_is_usual_and_keeps_the_rest() {
        let plain = evidence_with_verdicts(&[Verdict::Accepted]).checks.remove(0);
        let stored = serde_json::to_string(&plain).unwrap();
        for field in ["required", "tries", "cached", "unverified", "stages"] {
            assert!(!stored.contains(field), "{stored}");
        }
        assert_eq!(serde_json::from_str::<CheckEvidence>(&stored).unwrap(), plain);
        let unusual = CheckEvidence { required: false, tries: 2, cached: true, unverified: true, ..plain };
        let stored = serde_json::to_string(&unusual).unwrap();
        assert_eq!(serde_json::from_str::<CheckEvidence>(&stored).unwrap(), unusual, "{stored}");
    }

    #[test]
    fn the_name_of_a_kind_of_evidence_is_its_stored_form() {
        let kinds = [
            EvidenceKind::StringMatch,
            EvidenceKind::External,
            EvidenceKind::Semantic,
            EvidenceKind::MultiStage,
            EvidenceKind::Plugin,
            EvidenceKind::Seal,
            EvidenceKind::Commit,
            EvidenceKind::ProtectedTests,
        ];
        for kind in kinds {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    // spec: V15
    #[test]
    fn protected_tests_reject_a_claim_only_if_no_check_failed_before_them() {
        use Verdict::{Accepted, Rejected};
        let with_protected_tests = |verdicts: &[Verdict]| {
            let mut evidence = evidence_with_verdicts(verdicts);
            evidence.checks[1].method = EvidenceKind::ProtectedTests;
            evidence.is_rejected_by_protected_tests()
        };
        assert!(with_protected_tests(&[Accepted, Rejected]));
        assert!(!with_protected_tests(&[Rejected, Rejected]));
        assert!(!with_protected_tests(&[Rejected, Accepted]));
        assert!(!with_protected_tests(&[Accepted, Accepted]));
    }

    // spec: V11
    #[test]
    fn a_reused_result_is_found_in_checks_and_stages() {
        let plain = evidence_with_verdicts(&[Verdict::Accepted, Verdict::Accepted]);
        assert!(!plain.has_cached_results());
        let mut reused = plain.clone();
        reused.checks[1].cached = true;
        assert!(reused.has_cached_results());
        let mut staged = plain;
        staged.checks[1].stages = reused.checks;
        assert!(staged.has_cached_results());
    }

    #[test]
    fn the_output_of_the_check_that_decides_is_shown() {
        let mut evidence = evidence_with_verdicts(&[Verdict::Accepted, Verdict::Rejected, Verdict::Rejected]);
        for (check, tail) in evidence.checks.iter_mut().zip(["passed", "first failure", "second failure"]) {
            check.tail = tail.to_string();
        }
        assert_eq!(evidence.deciding_output_tail(), "first failure");
        assert_eq!(Evidence::default().deciding_output_tail(), "");
    }
}
