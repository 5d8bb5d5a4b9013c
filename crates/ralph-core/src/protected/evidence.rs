//! The evidence of protected tests for a claim.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{InlineTestChange, ProtectedChange, RunFile};
use crate::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};

/// The findings about the protected tests of a claim that the checks accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtectedFinding {
    /// Only named, because of `verification.tests: report`.
    Reported,
    /// The checks ran again with the protected files as before the work.
    RanAgain { evidence: Evidence, base_has_tests: bool },
    /// The checks could not run again.
    NotEvaluated { reason: String },
    /// The files before the work cannot be read any more.
    BaseMissing { reason: String },
    /// The files before the work were never recorded.
    NoBase,
    /// Protected files were changed while the checks ran, by code that the checks started.
    ChangedByChecks { paths: Vec<String> },
    /// Nothing changed, or all changes are allowed.
    NothingLeft,
}

/// The protected tests of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedReport {
    pub changes: Vec<ProtectedChange>,
    /// Changes that the user allows.
    pub allowed: Vec<ProtectedChange>,
    /// Changed source files with inline tests.
    pub inline: Vec<InlineTestChange>,
    /// Changed files that the checks run through another file.
    pub run_files: Vec<RunFile>,
    pub finding: ProtectedFinding,
}

/// How many changes the reason of a rejection lists. Its output contains all of them.
const MAX_LISTED_CHANGES: usize = 10;

const SUBJECT: &str = "protected tests";

const NO_BASE: &str = "the files before the work were not recorded, so changed tests cannot be found";

/// Returns the evidence about protected tests; `None` if there is nothing to say.
#[must_use]
pub fn protected_tests_evidence(report: ProtectedReport) -> Option<CheckEvidence> {
    let ProtectedReport { changes, allowed, inline, run_files, finding } = report;
    let is_silent = changes.is_empty() && allowed.is_empty() && inline.is_empty() && run_files.is_empty();
    let says_nothing = matches!(finding, ProtectedFinding::NothingLeft | ProtectedFinding::Reported);
    if is_silent && says_nothing {
        return None;
    }
    let sentences = describe_all(&changes);
    let mut evidence = judge_finding(&sentences, finding);
    let allowed_sentences = describe_all(&allowed);
    if evidence.verdict == Verdict::Accepted {
        if !allowed.is_empty() {
            let listed = allowed_sentences.join(", ");
            add_sentence(&mut evidence, &format!("Changed by the work, as allow_changes permits: {listed}"));
        }
        add_inline_tests(&mut evidence, &inline);
        add_run_files(&mut evidence, &run_files);
    }
    let lines: Vec<&str> = sentences.iter().chain(&allowed_sentences).map(String::as_str).collect();
    let tail = [lines.join("\n"), evidence.tail.clone()];
    let tail: Vec<String> = tail.into_iter().filter(|part| !part.is_empty()).collect();
    let changed_tests = changes.into_iter().chain(allowed).map(|change| change.path).collect();
    Some(CheckEvidence { tail: tail.join("\n"), changed_tests, ..evidence })
}

/// Returns the evidence of a finding about these changes.
fn judge_finding(changes: &[String], finding: ProtectedFinding) -> CheckEvidence {
    let listed = changes.join(", ");
    let accept = |reason: String, proof_limit: Option<String>| CheckEvidence {
        proof_limit,
        ..evidence_with(Verdict::Accepted, reason)
    };
    let limited = |reason: String| accept(format!("Changed by the work: {listed}; {reason}"), Some(reason));
    match finding {
        ProtectedFinding::NothingLeft => accept(String::new(), None),
        ProtectedFinding::NoBase => accept(NO_BASE.to_string(), Some(NO_BASE.to_string())),
        ProtectedFinding::Reported => limited("these changes were only reported".to_string()),
        ProtectedFinding::NotEvaluated { reason } => {
            limited(format!("the checks could not run with these files as before the work: {reason}"))
        }
        ProtectedFinding::BaseMissing { reason } => {
            evidence_with(Verdict::CouldNotEvaluate, format!("the files from before the work cannot be read: {reason}"))
        }
        ProtectedFinding::ChangedByChecks { paths } => evidence_with(
            Verdict::Rejected,
            format!(
                "code of the work changed protected files while the checks ran: {}; remove the code that does this",
                list_some(&paths)
            ),
        ),
        ProtectedFinding::RanAgain { evidence, base_has_tests } => {
            let deciding = evidence.verdict_reason();
            match (evidence.verdict(), base_has_tests) {
                (Verdict::Accepted, _) => accept(
                    format!("Changed by the work: {listed}; the checks also pass with these files as before the work"),
                    None,
                ),
                (Verdict::Rejected, true) => reject(&list_some(changes), &deciding, evidence.deciding_output_tail()),
                (Verdict::Rejected, false) => {
                    limited("there were no tests before the work to compare with".to_string())
                }
                (Verdict::CouldNotEvaluate, _) => limited(format!(
                    "the checks could not be evaluated with these files as before the work: {deciding}"
                )),
            }
        }
    }
}

/// Says which inline tests are not protected. If existing ones were changed, the claim is not proven.
fn add_inline_tests(evidence: &mut CheckEvidence, inline: &[InlineTestChange]) {
    if inline.is_empty() {
        return;
    }
    let all: Vec<String> = inline.iter().map(InlineTestChange::describe).collect();
    add_sentence(evidence, &format!("Not protected: {}", all.join(", ")));
    let changed = inline.iter().find(|change| change.are_tests_changed);
    let limit = changed.map(|change| format!("{}, which are not protected", change.describe()));
    evidence.proof_limit = evidence.proof_limit.take().or(limit);
}

/// Says which files the checks run that the work changed. Such a claim is not proven: the checks may pass because of them.
fn add_run_files(evidence: &mut CheckEvidence, run_files: &[RunFile]) {
    let Some(first) = run_files.first() else { return };
    let all: Vec<String> = run_files.iter().map(RunFile::describe).collect();
    add_sentence(evidence, &format!("Not sealed: {}", list_some(&all)));
    evidence.proof_limit = evidence.proof_limit.take().or_else(|| Some(first.describe()));
}

fn add_sentence(evidence: &mut CheckEvidence, sentence: &str) {
    let reason = core::mem::take(&mut evidence.reason);
    evidence.reason = if reason.is_empty() { sentence.to_string() } else { format!("{reason}. {sentence}") };
}

fn describe_all(changes: &[ProtectedChange]) -> Vec<String> {
    changes.iter().map(ProtectedChange::describe).collect()
}

fn evidence_with(verdict: Verdict, reason: String) -> CheckEvidence {
    CheckEvidence::without_output(EvidenceKind::ProtectedTests, SUBJECT.into(), verdict, reason)
}

fn reject(listed: &str, deciding: &str, tail: &str) -> CheckEvidence {
    let reason = format!(
        "the work changed protected tests or files that decide what tests run: {listed}; with these files as before the \
         work the checks fail: {deciding}; undo these changes and make the original tests pass"
    );
    CheckEvidence { tail: tail.into(), ..evidence_with(Verdict::Rejected, reason) }
}

fn list_some(changes: &[String]) -> String {
    let first: Vec<&str> = changes.iter().take(MAX_LISTED_CHANGES).map(String::as_str).collect();
    match changes.len().saturating_sub(MAX_LISTED_CHANGES) {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protected::{FileChange, ProtectedKind};

    fn ran_again(verdict: Verdict, base_has_tests: bool) -> ProtectedFinding {
        let check =
            CheckEvidence::without_output(EvidenceKind::External, "make test".into(), verdict, "exit code 2".into());
        ProtectedFinding::RanAgain { evidence: Evidence { checks: [check].into() }, base_has_tests }
    }

    fn change(path: &str) -> ProtectedChange {
        ProtectedChange::new(path.into(), FileChange::Modified, ProtectedKind::Deciding)
    }

    fn report(changes: &[&str], finding: ProtectedFinding) -> ProtectedReport {
        let changes = changes.iter().map(|path| change(path)).collect();
        ProtectedReport { changes, allowed: Vec::new(), inline: Vec::new(), run_files: Vec::new(), finding }
    }

    // spec: V15
    #[test]
    fn the_second_run_decides_about_changed_tests() {
        use Verdict::{Accepted, CouldNotEvaluate, Rejected};
        let judge = |finding| {
            let evidence = protected_tests_evidence(report(&["Makefile"], finding)).unwrap();
            assert_eq!(evidence.changed_tests, ["Makefile"]);
            (evidence.verdict, evidence.proof_limit.is_some())
        };
        assert_eq!(judge(ran_again(Accepted, true)), (Accepted, false));
        assert_eq!(judge(ran_again(Rejected, true)), (Rejected, false));
        assert_eq!(judge(ran_again(Rejected, false)), (Accepted, true));
        assert_eq!(judge(ran_again(CouldNotEvaluate, true)), (Accepted, true));
        assert_eq!(judge(ProtectedFinding::Reported), (Accepted, true));
        assert_eq!(judge(ProtectedFinding::NotEvaluated { reason: "x".into() }), (Accepted, true));
        assert_eq!(judge(ProtectedFinding::BaseMissing { reason: "x".into() }), (CouldNotEvaluate, false));
        let touched = ProtectedFinding::ChangedByChecks { paths: ["tests/a".into()].into() };
        assert_eq!(judge(touched), (Rejected, false));
        let rejected = protected_tests_evidence(report(&["Makefile"], ran_again(Rejected, true))).unwrap();
        assert!(
            rejected.reason.contains("Makefile was changed") && rejected.reason.contains("`make test`: exit code 2")
        );
    }

    // spec: V15
    #[test]
    fn allowed_changes_are_named() {
        let nothing = report(&[], ProtectedFinding::NothingLeft);
        let allowed = [change("tests/a")].into();
        let evidence = protected_tests_evidence(ProtectedReport { allowed, ..nothing.clone() }).unwrap();
        assert_eq!(evidence.reason, "Changed by the work, as allow_changes permits: tests/a was changed");
        assert_eq!(evidence.changed_tests, ["tests/a"]);
        assert_eq!(protected_tests_evidence(nothing), None);
    }

    // spec: V15
    #[test]
    fn every_changed_test_of_an_accepted_claim_is_named() {
        let paths: Vec<String> = (0..100).map(|number| format!("tests/{number}.rs")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let evidence = protected_tests_evidence(report(&paths, ran_again(Verdict::Accepted, true))).unwrap();
        assert!(paths.iter().all(|path| evidence.reason.contains(path)));
        let rejected = protected_tests_evidence(report(&paths, ran_again(Verdict::Rejected, true))).unwrap();
        assert!(rejected.reason.contains("and 90 more") && rejected.tail.contains("tests/99.rs was changed"));
    }

    // spec: V15
    #[test]
    fn a_missing_base_and_changed_inline_tests_limit_the_proof() {
        let evidence = protected_tests_evidence(report(&[], ProtectedFinding::NoBase)).unwrap();
        assert_eq!((evidence.verdict, evidence.proof_limit.as_deref()), (Verdict::Accepted, Some(NO_BASE)));
        let with_inline = |are_tests_changed| {
            let inline = [InlineTestChange { path: "src/a.rs".into(), are_tests_changed }].into();
            let nothing = report(&[], ProtectedFinding::NothingLeft);
            protected_tests_evidence(ProtectedReport { inline, ..nothing }).unwrap()
        };
        let unchanged = with_inline(false);
        assert_eq!(unchanged.reason, "Not protected: src/a.rs has inline tests");
        assert_eq!(unchanged.proof_limit, None);
        let limit = "the work changed inline tests in src/a.rs, which are not protected";
        assert_eq!(with_inline(true).proof_limit.as_deref(), Some(limit));
    }

    // spec: V16
    // finding: N9
    #[test]
    fn a_changed_file_that_a_check_runs_through_another_file_limits_the_proof() {
        let run_files = [RunFile { path: "ci/t.sh".into(), is_new: false, by: "Makefile".into() }].into();
        let nothing = report(&[], ProtectedFinding::NothingLeft);
        let evidence = protected_tests_evidence(ProtectedReport { run_files, ..nothing }).unwrap();
        let limit = "the work changed ci/t.sh, which Makefile runs";
        assert_eq!((evidence.verdict, evidence.proof_limit.as_deref()), (Verdict::Accepted, Some(limit)));
        assert_eq!(evidence.reason, ["Not sealed: ", limit].concat());
    }

    // spec: V15
    #[test]
    fn the_reason_and_the_output_of_an_accepted_claim_name_the_allowed_changes_last() {
        let changed = report(&["tests/a", "tests/b"], ran_again(Verdict::Accepted, true));
        let allowed = [change("verify.sh")].into();
        let accepted = protected_tests_evidence(ProtectedReport { allowed, ..changed }).unwrap();
        let permitted = ". Changed by the work, as allow_changes permits: verify.sh was changed";
        assert!(accepted.reason.ends_with(permitted), "{}", accepted.reason);
        assert_eq!(accepted.tail, "tests/a was changed\ntests/b was changed\nverify.sh was changed");
        let one = protected_tests_evidence(report(&["tests/a"], ProtectedFinding::Reported)).unwrap();
        assert_eq!(one.reason, "Changed by the work: tests/a was changed; these changes were only reported");
    }

    // spec: V15
    #[test]
    fn a_rejection_shows_the_output_of_the_check_and_names_no_allowed_change() {
        let mut finding = ran_again(Verdict::Rejected, true);
        if let ProtectedFinding::RanAgain { evidence, .. } = &mut finding {
            evidence.checks[0].tail = "1 failed".to_string();
        }
        let allowed = [change("verify.sh")].into();
        let rejected = ProtectedReport { allowed, ..report(&["tests/a"], finding) };
        let rejected = protected_tests_evidence(rejected).unwrap();
        assert_eq!(rejected.tail, "tests/a was changed\nverify.sh was changed\n1 failed");
        assert!(!rejected.reason.contains("allow_changes"), "{}", rejected.reason);
    }
}
