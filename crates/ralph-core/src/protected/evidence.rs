//! The evidence of protected tests for a claim.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};

/// What was found about the protected tests of a claim that the checks accepted.
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
    /// All changes are allowed.
    NothingLeft,
}

/// How many changes a reason lists. The output of the evidence contains all of them.
const MAX_LISTED_CHANGES: usize = 10;

const SUBJECT: &str = "protected tests";

/// Returns the evidence for changes of protected files, each as a sentence; `None` if there are none.
#[must_use]
pub fn protected_tests_evidence(
    changes: &[String],
    allowed: &[String],
    finding: ProtectedFinding,
) -> Option<CheckEvidence> {
    if changes.is_empty() && allowed.is_empty() {
        return None;
    }
    let listed = list_changes(changes);
    let accept = |reason: String, proof_limit: Option<String>| CheckEvidence {
        proof_limit,
        ..CheckEvidence::without_output(EvidenceKind::ProtectedTests, SUBJECT.into(), Verdict::Accepted, reason)
    };
    let limited = |reason: String| accept(format!("Changed by the work: {listed}; {reason}"), Some(reason));
    let mut evidence = match finding {
        ProtectedFinding::NothingLeft => accept(String::new(), None),
        ProtectedFinding::Reported => limited("these changes were only reported".to_string()),
        ProtectedFinding::NotEvaluated { reason } => {
            limited(format!("the checks could not run with these files as before the work: {reason}"))
        }
        ProtectedFinding::BaseMissing { reason } => CheckEvidence::without_output(
            EvidenceKind::ProtectedTests,
            SUBJECT.into(),
            Verdict::CouldNotEvaluate,
            format!("the files from before the work cannot be read: {reason}"),
        ),
        ProtectedFinding::RanAgain { evidence, base_has_tests } => {
            let deciding = evidence.verdict_reason();
            match (evidence.verdict(), base_has_tests) {
                (Verdict::Accepted, _) => accept(
                    format!("Changed by the work: {listed}; the checks also pass with these files as before the work"),
                    None,
                ),
                (Verdict::Rejected, true) => reject(&listed, &deciding, evidence.deciding_output_tail()),
                (Verdict::Rejected, false) => {
                    limited("there were no tests before the work to compare with".to_string())
                }
                (Verdict::CouldNotEvaluate, _) => limited(format!(
                    "the checks could not be evaluated with these files as before the work: {deciding}"
                )),
            }
        }
    };
    if !allowed.is_empty() && evidence.verdict == Verdict::Accepted {
        let sentence = format!("Changed by the work, as allow_changes permits: {}", list_changes(allowed));
        evidence.reason =
            if evidence.reason.is_empty() { sentence } else { format!("{}. {sentence}", evidence.reason) };
    }
    let all: Vec<&str> = changes.iter().chain(allowed).map(String::as_str).collect();
    let tail = if evidence.tail.is_empty() { all.join("\n") } else { format!("{}\n{}", all.join("\n"), evidence.tail) };
    Some(CheckEvidence { tail, ..evidence })
}

fn reject(listed: &str, deciding: &str, tail: &str) -> CheckEvidence {
    let reason = format!(
        "the work changed protected tests or files that decide what tests run: {listed}; with these files as before the \
         work the checks fail: {deciding}; undo these changes and make the original tests pass"
    );
    CheckEvidence {
        tail: tail.into(),
        ..CheckEvidence::without_output(EvidenceKind::ProtectedTests, SUBJECT.into(), Verdict::Rejected, reason)
    }
}

fn list_changes(changes: &[String]) -> String {
    let first: Vec<&str> = changes.iter().take(MAX_LISTED_CHANGES).map(String::as_str).collect();
    match changes.len().saturating_sub(MAX_LISTED_CHANGES) {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran_again(verdict: Verdict, base_has_tests: bool) -> ProtectedFinding {
        let check =
            CheckEvidence::without_output(EvidenceKind::External, "make test".into(), verdict, "exit code 2".into());
        ProtectedFinding::RanAgain { evidence: Evidence { checks: [check].into() }, base_has_tests }
    }

    // spec: V15
    #[test]
    fn the_second_run_decides_about_changed_tests() {
        use Verdict::{Accepted, CouldNotEvaluate, Rejected};
        let changes = ["Makefile was changed".to_string()];
        let judge = |finding| {
            let evidence = protected_tests_evidence(&changes, &[], finding).unwrap();
            (evidence.verdict, evidence.proof_limit.is_some())
        };
        assert_eq!(judge(ran_again(Accepted, true)), (Accepted, false));
        assert_eq!(judge(ran_again(Rejected, true)), (Rejected, false));
        assert_eq!(judge(ran_again(Rejected, false)), (Accepted, true));
        assert_eq!(judge(ran_again(CouldNotEvaluate, true)), (Accepted, true));
        assert_eq!(judge(ProtectedFinding::Reported), (Accepted, true));
        assert_eq!(judge(ProtectedFinding::NotEvaluated { reason: "x".into() }), (Accepted, true));
        assert_eq!(judge(ProtectedFinding::BaseMissing { reason: "x".into() }), (CouldNotEvaluate, false));
        let rejected = protected_tests_evidence(&changes, &[], ran_again(Rejected, true)).unwrap();
        assert!(
            rejected.reason.contains("Makefile was changed") && rejected.reason.contains("`make test`: exit code 2")
        );
    }

    // spec: V15
    #[test]
    fn allowed_changes_are_named() {
        let changed = ["tests/a was changed".to_string()];
        let evidence = protected_tests_evidence(&[], &changed, ProtectedFinding::NothingLeft).unwrap();
        assert_eq!(evidence.reason, "Changed by the work, as allow_changes permits: tests/a was changed");
        assert_eq!((evidence.verdict, evidence.proof_limit), (Verdict::Accepted, None));
        assert_eq!(protected_tests_evidence(&[], &[], ProtectedFinding::NothingLeft), None);
    }

    // spec: V15
    #[test]
    fn the_reason_lists_ten_changes_and_the_output_all_of_them() {
        let changes: Vec<String> = (0..12).map(|number| format!("test-{number} was changed")).collect();
        let allowed = ["verify.sh was changed".to_string()];
        let accepted = protected_tests_evidence(&changes, &allowed, ran_again(Verdict::Accepted, true)).unwrap();
        assert!(
            accepted.reason.contains("test-9 was changed, and 2 more; the checks also pass"),
            "{}",
            accepted.reason
        );
        let permitted = ". Changed by the work, as allow_changes permits: verify.sh was changed";
        assert!(accepted.reason.ends_with(permitted), "{}", accepted.reason);
        assert_eq!(accepted.tail, [changes.join("\n"), allowed.concat()].join("\n"));
        let one = protected_tests_evidence(&changes[..1], &[], ProtectedFinding::Reported).unwrap();
        assert_eq!(one.reason, "Changed by the work: test-0 was changed; these changes were only reported");
    }

    // spec: V15
    #[test]
    fn a_rejection_shows_the_output_of_the_check_and_names_no_allowed_change() {
        let mut finding = ran_again(Verdict::Rejected, true);
        if let ProtectedFinding::RanAgain { evidence, .. } = &mut finding {
            evidence.checks[0].tail = "1 failed".to_string();
        }
        let changes = ["tests/a was changed".to_string()];
        let rejected = protected_tests_evidence(&changes, &["verify.sh was changed".to_string()], finding).unwrap();
        assert_eq!(rejected.tail, "tests/a was changed\nverify.sh was changed\n1 failed");
        assert!(!rejected.reason.contains("allow_changes"), "{}", rejected.reason);
    }
}
