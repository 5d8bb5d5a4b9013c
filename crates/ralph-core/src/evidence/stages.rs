//! What several stages say together.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{CheckEvidence, Verdict};

/// Tells whether no further stage needs to run: a required one failed, and all are required.
#[must_use]
pub fn is_settled(require_all: bool, seen: &[CheckEvidence]) -> bool {
    require_all && seen.iter().any(is_required_failure)
}

/// Returns verdict and reason for the stages that were run. Optional ones only warn.
#[must_use]
pub fn judge_stages(require_all: bool, seen: &[CheckEvidence]) -> (Verdict, String) {
    let failed: Vec<&CheckEvidence> = seen.iter().filter(|stage| is_required_failure(stage)).collect();
    let Some(first) = failed.first() else {
        return (Verdict::Accepted, passed(seen));
    };
    let verdict = if failed.iter().any(|stage| stage.verdict == Verdict::Rejected) {
        Verdict::Rejected
    } else {
        Verdict::CouldNotEvaluate
    };
    if require_all {
        return (verdict, format!("Stage '{}' failed: {}", name_of(first), first.reason));
    }
    let reasons: Vec<String> =
        failed.iter().map(|stage| format!("{}: {}", name_of(stage), stage.reason)).collect();
    (verdict, format!("Failed stages: {}", reasons.join("; ")))
}

fn is_required_failure(stage: &CheckEvidence) -> bool {
    stage.required && stage.verdict != Verdict::Accepted
}

fn passed(seen: &[CheckEvidence]) -> String {
    let warnings: Vec<String> = seen
        .iter()
        .filter(|stage| stage.verdict != Verdict::Accepted)
        .map(|stage| format!("{}: {}", name_of(stage), stage.reason))
        .collect();
    let optional = if warnings.is_empty() {
        String::new()
    } else {
        format!(" (optional ones did not: {})", warnings.join("; "))
    };
    format!("All {} verification stages passed{optional}", seen.len() - warnings.len())
}

fn name_of(stage: &CheckEvidence) -> String {
    stage.name.clone().unwrap_or_else(|| "unnamed".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Kind;

    fn stage(name: &str, required: bool, verdict: Verdict) -> CheckEvidence {
        let reason = format!("{name} is {}", verdict.as_str());
        let plain = CheckEvidence::plain(Kind::External, name.to_string(), verdict, reason);
        CheckEvidence { name: Some(name.to_string()), required, ..plain }
    }

    // spec: V4
    #[test]
    fn a_required_failure_rejects_and_names_its_stage() {
        let seen = [stage("lint", true, Verdict::Accepted), stage("test", true, Verdict::Rejected)];
        assert!(is_settled(true, &seen) && !is_settled(false, &seen));
        let (verdict, reason) = judge_stages(true, &seen);
        assert_eq!((verdict, reason.as_str()), (Verdict::Rejected, "Stage 'test' failed: test is rejected"));
    }

    // spec: V4
    #[test]
    fn without_require_all_every_required_failure_is_named() {
        let seen = [
            stage("a", true, Verdict::CouldNotEvaluate),
            stage("b", true, Verdict::Rejected),
            stage("c", false, Verdict::Rejected),
        ];
        let (verdict, reason) = judge_stages(false, &seen);
        assert_eq!(verdict, Verdict::Rejected);
        assert_eq!(reason, "Failed stages: a: a is could_not_evaluate; b: b is rejected");
    }

    // spec: V4
    #[test]
    fn an_optional_failure_only_warns() {
        let seen = [stage("a", true, Verdict::Accepted), stage("b", false, Verdict::Rejected)];
        let (verdict, reason) = judge_stages(true, &seen);
        assert_eq!(verdict, Verdict::Accepted);
        assert_eq!(reason, "All 1 verification stages passed (optional ones did not: b: b is rejected)");
    }

    // spec: V4, V7
    #[test]
    fn stages_that_could_not_be_evaluated_are_not_a_verified_failure() {
        let seen = [stage("a", true, Verdict::CouldNotEvaluate)];
        assert_eq!(judge_stages(true, &seen).0, Verdict::CouldNotEvaluate);
    }
}
