//! What the checks saw, and the verdict that follows from it. A verifier brings evidence; the verdict is given
//! here and nowhere else.
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

/// Three values: "could not evaluate" is neither a pass nor a verified failure.
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

/// What kind of evidence it is: the methods of criteria, and what ralph looks at by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    StringMatch,
    #[default]
    External,
    Semantic,
    MultiStage,
    Plugin,
    /// Whether what was sealed when the run started is still as it was.
    Seal,
    /// Whether the work is committed.
    Commit,
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
    /// What was looked at, in one line: of an external check, its command.
    pub command: String,
    pub verdict: Verdict,
    pub reason: String,
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    /// The end of the output, bounded and safe to show.
    pub tail: String,
    /// Where the whole output is, relative to the run's folder; empty where there is none.
    pub log: String,
    /// Descendants that the command left behind; they were killed.
    pub leftovers: u32,
    /// An optional stage that fails only warns.
    #[serde(default = "default_true", skip_serializing_if = "is_true")]
    pub required: bool,
    /// How often it was looked at. More than once and accepted: it is flaky.
    #[serde(default = "default_one", skip_serializing_if = "is_one")]
    pub tries: u32,
    /// The result is an earlier one of the same run: nothing that it depends on had changed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
    /// The SHA-256 of the whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Nobody could look, and the user had said that the claim alone shall count then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unverified: bool,
    /// What a judge found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<JudgeReport>,
    /// What a judge used, all tries together; nothing where no model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<ModelSpend>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<CheckEvidence>,
}

/// What a judge found, and who it was.
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
    /// The words on which the judge relies.
    pub quotation: String,
    #[serde(default)]
    pub reason: String,
}

impl CheckEvidence {
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
            judgement: None,
            spend: None,
            stages: Vec::new(),
        }
    }

    /// Returns what messages call the check: what was run stands in full in the evidence itself.
    #[must_use]
    pub fn display_name(&self) -> String {
        criterion_label(self.name.as_deref(), &self.command)
    }

    /// Tells whether it accepted only when it was looked at again.
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

/// All that was seen when a claim was verified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub checks: Vec<CheckEvidence>,
}

impl Evidence {
    /// Gives the verdict: accepted only if there is evidence and all of it accepts. A check that failed
    /// outranks one that could not be evaluated.
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
            None => "there was nothing to check".to_string(),
            Some(_) if verdict == Verdict::Accepted => match self.count_independent_checks() {
                0 => "by the agent's own word".to_string(),
                1 => "1 check passed".to_string(),
                count => format!("{count} checks passed"),
            },
            Some(check) => match check.method {
                EvidenceKind::Seal | EvidenceKind::Commit => format!("{}: {}", check.command, check.reason),
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

    /// Counts what says more than the claim does.
    fn count_independent_checks(&self) -> usize {
        let is_word = |kind: EvidenceKind| matches!(kind, EvidenceKind::StringMatch | EvidenceKind::Seal);
        self.checks.iter().filter(|check| !is_word(check.method) && !check.unverified).count()
    }

    /// Returns what the judges used; nothing where none was asked.
    #[must_use]
    pub fn judge_spend(&self) -> Option<ModelSpend> {
        sum_judge_spend(&self.checks)
    }

    /// Tells whether some of it is an earlier result.
    #[must_use]
    pub fn has_cached_results(&self) -> bool {
        fn any_cached(checks: &[CheckEvidence]) -> bool {
            checks.iter().any(|check| check.cached || any_cached(&check.stages))
        }
        any_cached(&self.checks)
    }

    /// Returns the end of the deciding check's output.
    #[must_use]
    pub fn deciding_output_tail(&self) -> &str {
        let verdict = self.verdict();
        self.checks.iter().find(|check| check.verdict == verdict).map_or("", |check| check.tail.as_str())
    }
}

/// Adds up what checks used. A check with stages has their sum.
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
    fn no_evidence_accepts_nothing() {
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
        let mut word = evidence_with_verdicts(&[Accepted, Accepted]);
        word.checks[0].method = EvidenceKind::StringMatch;
        assert_eq!(word.verdict_reason(), "1 check passed");
        word.checks[1].unverified = true;
        assert_eq!(word.verdict_reason(), "by the agent's own word");
    }

    // spec: V2
    #[test]
    fn a_reason_calls_a_check_by_its_name_and_never_recites_a_script() {
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
        let mut seen = evidence_with_verdicts(&[Verdict::Accepted, Verdict::Accepted, Verdict::Rejected]);
        assert_eq!(seen.judge_spend(), None);
        let used = |tokens| Some(ModelSpend { input_tokens: Some(tokens), ..ModelSpend::default() });
        (seen.checks[0].spend, seen.checks[2].spend) = (used(3), used(4));
        assert_eq!(seen.judge_spend(), used(7));
    }
}
