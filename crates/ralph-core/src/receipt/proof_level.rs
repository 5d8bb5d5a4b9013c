//! The proof level of a completion: what was seen to fail before the work and passes now, what was only checked, and
//! what rests on the agent's word.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::ReceiptCheck;
use crate::baseline::{BaselineCheck, BaselineProblem, BaselineStatus};
use crate::criterion::criterion_label;
use crate::evidence::{CheckEvidence, EvidenceKind, Verdict};

/// How well a completion is proven. A higher level is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofLevel {
    /// Only the agent's word supports it.
    Unverified,
    /// Checks or a judge accepted it, but none of the checks was seen to fail before the work.
    Checked,
    /// At least one deciding check failed before the work and passes now, and nothing weakens it.
    Proven,
}

impl ProofLevel {
    pub const ALL: [Self; 3] = [Self::Unverified, Self::Checked, Self::Proven];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Checked => "checked",
            Self::Proven => "proven",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

/// The proof level of a completion, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    #[serde(rename = "proof")]
    pub level: ProofLevel,
    #[serde(rename = "proof_reason")]
    pub reason: String,
    /// Whether a judge alone accepted the claim.
    #[serde(rename = "judged", default, skip_serializing_if = "is_false")]
    pub is_judged: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// The result of one external check before the work, as far as the proof level depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub command: String,
    pub required: bool,
    pub standing: BaselineStatus,
    /// Whether a program or script that the check runs did not exist.
    pub missing: bool,
}

impl From<&BaselineCheck> for BaselineResult {
    fn from(check: &BaselineCheck) -> Self {
        let BaselineCheck { standing, problem, evidence } = check;
        Self {
            name: evidence.name.clone(),
            command: evidence.command.clone(),
            required: evidence.required,
            standing: *standing,
            missing: *problem == Some(BaselineProblem::MissingFromWorkTree),
        }
    }
}

impl BaselineResult {
    /// Returns whether the check ran and failed, so that it can prove the work.
    fn can_prove(&self) -> bool {
        self.required && self.standing == BaselineStatus::Fails && !self.missing
    }

    /// Returns the name of the check, or its command.
    #[must_use]
    pub fn display_name(&self) -> String {
        criterion_label(self.name.as_deref(), &self.command)
    }
}

impl Proof {
    /// Returns the proof of a claim that nothing verified.
    #[must_use]
    pub fn by_claim_alone() -> Self {
        Self::new(ProofLevel::Unverified, "only the agent's claim supports it")
    }

    /// Returns the proof of a receipt of an older ralph, which has no level.
    #[must_use]
    pub fn of_old_receipt(is_verified: bool) -> Self {
        match is_verified {
            true => Self::new(ProofLevel::Checked, "an older ralph recorded no proof level"),
            false => Self::by_claim_alone(),
        }
    }

    /// Returns the proof of accepted evidence, given the results of the external checks before the work.
    #[must_use]
    pub fn from_evidence(checks: &[CheckEvidence], baseline: &[BaselineResult]) -> Self {
        let deciding = deciding_checks(checks);
        if deciding.is_empty() {
            return Self::by_claim_alone();
        }
        if deciding.iter().all(|check| check.method == EvidenceKind::Semantic) {
            return Self { is_judged: true, ..Self::new(ProofLevel::Checked, "a judge alone accepted it") };
        }
        if let Some(reason) = find_limit(checks, baseline) {
            return Self::new(ProofLevel::Checked, reason);
        }
        match deciding.iter().find(|check| was_seen_to_fail(check, baseline)) {
            Some(check) => {
                let reason = format!("`{}` failed before the work and passes now", check.display_name());
                Self::new(ProofLevel::Proven, reason)
            }
            None => Self::new(ProofLevel::Checked, reason_without_failure(&deciding, baseline)),
        }
    }

    /// Returns the proof of evidence that did not accept the claim, for a person who accepts it nevertheless. It is never
    /// `proven`.
    #[must_use]
    pub fn of_unaccepted(checks: &[CheckEvidence], reason: &str) -> Self {
        let measured = Self::from_evidence(checks, &[]);
        match measured.level {
            ProofLevel::Unverified => Self::new(ProofLevel::Unverified, format!("no check accepted it: {reason}")),
            ProofLevel::Checked | ProofLevel::Proven => {
                Self { reason: format!("not every check accepted it: {reason}"), ..measured }
            }
        }
    }

    fn new(level: ProofLevel, reason: impl Into<String>) -> Self {
        Self { level, reason: reason.into(), is_judged: false }
    }

    /// Returns the word that people read: `judged` if a judge alone accepted the claim, otherwise the level.
    #[must_use]
    pub fn display_word(&self) -> &'static str {
        if self.is_judged { "judged" } else { self.level.as_str() }
    }

    /// Returns the level of a word that [`Self::display_word`] returned.
    #[must_use]
    pub fn level_of_word(word: &str) -> Option<ProofLevel> {
        if word == "judged" { Some(ProofLevel::Checked) } else { ProofLevel::parse(word) }
    }

    /// Returns the word and the reason in one line.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{}: {}", self.display_word(), self.reason)
    }
}

/// Returns why no claim of this run can be `proven`, judged by the baseline alone; `None` if one can.
#[must_use]
pub fn reason_against_proof(baseline: &[BaselineResult]) -> Option<String> {
    let missing = baseline.iter().find(|result| result.required && result.missing);
    match (missing, baseline.iter().any(BaselineResult::can_prove)) {
        (Some(result), _) => Some(describe_missing(result)),
        (None, true) => None,
        (None, false) if baseline.iter().any(|result| result.required) => {
            Some("every check passes already, so none of them can prove the work".to_string())
        }
        (None, false) => Some("no required command was run before the work".to_string()),
    }
}

/// Returns the required checks that accepted the work itself, including those in stages.
fn deciding_checks(checks: &[CheckEvidence]) -> Vec<&CheckEvidence> {
    let mut found = Vec::new();
    for check in checks.iter().filter(|check| check.required) {
        match check.method {
            EvidenceKind::MultiStage if check.verdict == Verdict::Accepted && !check.unverified => {
                found.extend(deciding_checks(&check.stages));
            }
            EvidenceKind::External | EvidenceKind::Plugin | EvidenceKind::Semantic => {
                found.extend(ReceiptCheck::from(check).verifies_work().then_some(check));
            }
            EvidenceKind::MultiStage
            | EvidenceKind::StringMatch
            | EvidenceKind::Seal
            | EvidenceKind::Commit
            | EvidenceKind::ProtectedTests => {}
        }
    }
    found
}

/// Returns why the evidence is at most `checked`, whatever failed before the work.
fn find_limit(checks: &[CheckEvidence], baseline: &[BaselineResult]) -> Option<String> {
    let missing = || baseline.iter().find(|result| result.required && result.missing).map(describe_missing);
    find_evidence_limit(checks).or_else(missing)
}

fn find_evidence_limit(checks: &[CheckEvidence]) -> Option<String> {
    checks.iter().find_map(|check| {
        let unverified = || check.unverified.then(|| format!("`{}` could not be verified", check.display_name()));
        check.proof_limit.clone().or_else(unverified).or_else(|| find_evidence_limit(&check.stages))
    })
}

fn describe_missing(result: &BaselineResult) -> String {
    format!("`{}` runs a file that did not exist before the work", result.display_name())
}

/// Returns whether a check failed before the work. Several checks may share name and command: all of them must have
/// failed.
fn was_seen_to_fail(check: &CheckEvidence, baseline: &[BaselineResult]) -> bool {
    let mut results = results_of(check, baseline).peekable();
    results.peek().is_some() && results.all(BaselineResult::can_prove)
}

fn results_of<'a>(
    check: &'a CheckEvidence,
    baseline: &'a [BaselineResult],
) -> impl Iterator<Item = &'a BaselineResult> {
    let is_command = check.method == EvidenceKind::External;
    let is_same = move |result: &&BaselineResult| result.command == check.command && result.name == check.name;
    baseline.iter().filter(move |_| is_command).filter(is_same)
}

fn reason_without_failure(deciding: &[&CheckEvidence], baseline: &[BaselineResult]) -> String {
    match deciding.iter().find(|check| results_of(check, baseline).next().is_some()) {
        Some(check) => format!("`{}` passed already before the work", check.display_name()),
        None => "no check was run before the work".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::evidence::JudgeReport;

    fn evidence_of(method: EvidenceKind, command: &str) -> CheckEvidence {
        CheckEvidence::without_output(method, command.to_string(), Verdict::Accepted, "so".to_string())
    }

    fn command(command: &str) -> CheckEvidence {
        evidence_of(EvidenceKind::External, command)
    }

    fn judge() -> CheckEvidence {
        let judgement = JudgeReport { judge: "claude".to_string(), model: None, findings: Vec::new() };
        CheckEvidence { judgement: Some(judgement), ..evidence_of(EvidenceKind::Semantic, "1 judged criterion") }
    }

    fn before(command: &str, standing: BaselineStatus) -> BaselineResult {
        BaselineResult { name: None, command: command.to_string(), required: true, standing, missing: false }
    }

    fn level(checks: &[CheckEvidence], baseline: &[BaselineResult]) -> ProofLevel {
        Proof::from_evidence(checks, baseline).level
    }

    const FAILS: BaselineStatus = BaselineStatus::Fails;
    const PASSES: BaselineStatus = BaselineStatus::ProvesNothing;

    // spec: V16
    #[test]
    fn a_check_that_failed_before_the_work_and_passes_now_proves_it() {
        let proof =
            Proof::from_evidence(&[command("lint"), command("make")], &[before("lint", PASSES), before("make", FAILS)]);
        assert_eq!(proof.describe(), "proven: `make` failed before the work and passes now");
        let seal = evidence_of(EvidenceKind::Seal, "the seal");
        assert_eq!(level(&[seal, command("make"), judge()], &[before("make", FAILS)]), ProofLevel::Proven);
    }

    // spec: V16
    // finding: N4
    #[test]
    fn a_check_that_passed_already_is_only_checked() {
        let proof = Proof::from_evidence(&[command("make")], &[before("make", PASSES)]);
        assert_eq!(proof.describe(), "checked: `make` passed already before the work");
        assert_eq!(level(&[command("make")], &[before("make", BaselineStatus::CannotRun)]), ProofLevel::Checked);
    }

    // spec: V16, V17
    #[test]
    fn evidence_that_did_not_accept_the_claim_is_never_proven() {
        let rejected =
            CheckEvidence { verdict: Verdict::Rejected, ..evidence_of(EvidenceKind::ProtectedTests, "tests") };
        let proof = Proof::of_unaccepted(&[command("make"), rejected.clone()], "tests were changed");
        assert_eq!(proof.describe(), "checked: not every check accepted it: tests were changed");
        assert_eq!(Proof::of_unaccepted(&[rejected], "so").describe(), "unverified: no check accepted it: so");
    }

    // spec: V16
    #[test]
    fn without_a_baseline_a_passing_check_is_only_checked() {
        let proof = Proof::from_evidence(&[command("make")], &[]);
        assert_eq!(proof.describe(), "checked: no check was run before the work");
        assert_eq!(level(&[command("make")], &[before("other", FAILS)]), ProofLevel::Checked);
    }

    // spec: V16
    #[test]
    fn a_plugin_has_no_baseline_and_is_only_checked() {
        let plugin = evidence_of(EvidenceKind::Plugin, "make");
        assert_eq!(level(&[plugin], &[before("make", FAILS)]), ProofLevel::Checked);
    }

    // spec: V16
    // finding: N12
    #[test]
    fn a_check_whose_script_did_not_exist_limits_the_level_and_says_so() {
        let missing = BaselineResult { missing: true, ..before("./check.sh", FAILS) };
        let checks = [command("./check.sh"), command("make")];
        let proof = Proof::from_evidence(&checks, &[missing.clone(), before("make", FAILS)]);
        assert_eq!(proof.describe(), "checked: `./check.sh` runs a file that did not exist before the work");
        let optional = BaselineResult { required: false, ..missing };
        assert_eq!(level(&checks, &[optional, before("make", FAILS)]), ProofLevel::Proven);
    }

    // spec: V16
    #[test]
    fn evidence_with_a_proof_limit_or_a_fall_back_is_only_checked() {
        let baseline = [before("make", FAILS)];
        let limited = CheckEvidence {
            proof_limit: Some("tests were changed".to_string()),
            ..evidence_of(EvidenceKind::ProtectedTests, "protected tests")
        };
        let proof = Proof::from_evidence(&[command("make"), limited.clone()], &baseline);
        assert_eq!(proof.describe(), "checked: tests were changed");
        let fallback = CheckEvidence { unverified: true, ..evidence_of(EvidenceKind::Semantic, "judge") };
        assert_eq!(level(&[command("make"), fallback], &baseline), ProofLevel::Checked);
        let staged = CheckEvidence { stages: vec![limited], ..evidence_of(EvidenceKind::MultiStage, "stages") };
        assert_eq!(level(&[command("make"), staged], &baseline), ProofLevel::Checked, "also in a stage");
    }

    // spec: V16
    #[test]
    fn a_judge_alone_is_shown_as_judged() {
        let proof = Proof::from_evidence(&[judge(), evidence_of(EvidenceKind::Seal, "the seal")], &[]);
        assert_eq!((proof.level, proof.display_word()), (ProofLevel::Checked, "judged"));
        let proof = Proof::from_evidence(&[judge(), command("make")], &[]);
        assert_eq!((proof.level, proof.display_word()), (ProofLevel::Checked, "checked"));
    }

    // spec: V16
    #[test]
    fn the_word_of_the_agent_is_unverified() {
        let fallback = CheckEvidence { unverified: true, ..evidence_of(EvidenceKind::Semantic, "judge") };
        let optional = CheckEvidence { required: false, ..command("make") };
        for check in [
            evidence_of(EvidenceKind::StringMatch, "DONE"),
            evidence_of(EvidenceKind::Seal, "the seal"),
            evidence_of(EvidenceKind::Commit, "the commit"),
            evidence_of(EvidenceKind::ProtectedTests, "protected tests"),
            fallback,
            CheckEvidence { stages: vec![optional], ..evidence_of(EvidenceKind::MultiStage, "stages") },
        ] {
            assert_eq!(
                level(core::slice::from_ref(&check), &[before("make", FAILS)]),
                ProofLevel::Unverified,
                "{check:?}"
            );
        }
        assert_eq!(level(&[], &[]), ProofLevel::Unverified);
    }

    // spec: V16
    #[test]
    fn a_required_stage_can_prove_the_work_and_an_optional_one_cannot() {
        let staged = |required| CheckEvidence {
            stages: vec![CheckEvidence { required, ..command("make") }, command("lint")],
            ..evidence_of(EvidenceKind::MultiStage, "stages")
        };
        let baseline = |required| [BaselineResult { required, ..before("make", FAILS) }, before("lint", PASSES)];
        assert_eq!(level(&[staged(true)], &baseline(true)), ProofLevel::Proven);
        assert_eq!(level(&[staged(false)], &baseline(false)), ProofLevel::Checked);
    }

    // spec: V16
    #[test]
    fn checks_of_the_same_command_must_all_have_failed() {
        let baseline = [before("make", FAILS), before("make", PASSES)];
        assert_eq!(level(&[command("make"), command("make")], &baseline), ProofLevel::Checked);
        let named = |name: &str| CheckEvidence { name: Some(name.to_string()), ..command("make") };
        let result = |name: &str, standing| BaselineResult { name: Some(name.to_string()), ..before("make", standing) };
        let baseline = [result("a", FAILS), result("b", PASSES)];
        assert_eq!(level(&[named("a"), named("b")], &baseline), ProofLevel::Proven);
    }

    // spec: V16
    #[test]
    fn a_run_that_requires_proof_needs_a_required_command_that_ran_and_failed() {
        assert_eq!(reason_against_proof(&[before("a", PASSES), before("b", FAILS)]), None);
        let reason = |baseline: &[BaselineResult]| reason_against_proof(baseline).unwrap();
        assert_eq!(reason(&[before("a", PASSES)]), "every check passes already, so none of them can prove the work");
        assert_eq!(reason(&[]), "no required command was run before the work");
        let optional = BaselineResult { required: false, ..before("b", FAILS) };
        assert_eq!(reason(&[optional]), "no required command was run before the work");
        let missing = BaselineResult { missing: true, ..before("./c.sh", FAILS) };
        assert_eq!(reason(&[missing, before("b", FAILS)]), "`./c.sh` runs a file that did not exist before the work");
    }

    // spec: V16
    #[test]
    fn levels_are_ordered_and_read_back_by_their_names() {
        assert!(ProofLevel::Unverified < ProofLevel::Checked && ProofLevel::Checked < ProofLevel::Proven);
        for level in ProofLevel::ALL {
            assert_eq!(ProofLevel::parse(level.as_str()), Some(level));
        }
        assert_eq!(ProofLevel::parse("judged"), None);
        assert_eq!(Proof::level_of_word("judged"), Some(ProofLevel::Checked));
    }

    // spec: V16
    #[test]
    fn a_proof_is_written_as_level_and_reason() {
        let proof = Proof::from_evidence(&[judge()], &[]);
        let json = r#"{"proof":"checked","proof_reason":"a judge alone accepted it","judged":true}"#;
        assert_eq!(serde_json::to_string(&proof).unwrap(), json);
        let json = r#"{"proof":"unverified","proof_reason":"only the agent's claim supports it"}"#;
        assert_eq!(serde_json::from_str::<Proof>(json).unwrap(), Proof::by_claim_alone());
    }

    // spec: V16
    #[test]
    fn the_stages_of_a_check_that_was_not_accepted_prove_nothing() {
        let staged = CheckEvidence { stages: vec![command("make")], ..evidence_of(EvidenceKind::MultiStage, "stages") };
        let rejected = CheckEvidence { verdict: Verdict::Rejected, ..staged.clone() };
        let fallback = CheckEvidence { unverified: true, ..staged };
        for check in [rejected, fallback] {
            assert_eq!(level(&[check], &[before("make", FAILS)]), ProofLevel::Unverified);
        }
    }

    // spec: V16
    #[test]
    fn a_baseline_result_says_what_failed_and_whether_its_script_was_missing() {
        let check = |problem| BaselineCheck { standing: FAILS, problem, evidence: command("make") };
        let result = |problem| BaselineResult::from(&check(problem));
        assert_eq!(result(None), before("make", FAILS));
        let missing = BaselineResult { missing: true, ..before("make", FAILS) };
        assert_eq!(result(Some(BaselineProblem::MissingFromWorkTree)), missing);
        assert_eq!(result(Some(BaselineProblem::NotFixableByAgent)), before("make", FAILS));
    }

    // spec: V16
    #[test]
    fn a_receipt_of_an_older_ralph_is_at_most_checked() {
        assert_eq!(Proof::of_old_receipt(true).level, ProofLevel::Checked);
        assert_eq!(Proof::of_old_receipt(false), Proof::by_claim_alone());
    }
}
