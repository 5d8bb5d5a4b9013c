//! The verdict on a check with several stages.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{CheckEvidence, ReasonedVerdict, Verdict};

/// Returns whether the remaining stages can be skipped: a required stage failed, and `require_all` is set.
#[must_use]
pub fn can_skip_remaining_stages(require_all: bool, stages: &[CheckEvidence]) -> bool {
    require_all && stages.iter().any(is_required_failure)
}

/// Returns the verdict on the stages that were run. A failed optional stage is only a warning.
#[must_use]
pub fn evaluate_stages(require_all: bool, stages: &[CheckEvidence]) -> ReasonedVerdict {
    let failed: Vec<&CheckEvidence> = stages.iter().filter(|stage| is_required_failure(stage)).collect();
    let Some(first) = failed.first() else {
        return ReasonedVerdict::new(Verdict::Accepted, describe_passed_stages(stages));
    };
    let verdict = if failed.iter().any(|stage| stage.verdict == Verdict::Rejected) {
        Verdict::Rejected
    } else {
        Verdict::CouldNotEvaluate
    };
    if require_all {
        return ReasonedVerdict::new(verdict, format!("Stage '{}' failed: {}", stage_name(first), first.reason));
    }
    let reasons: Vec<String> = failed.iter().map(|stage| format!("{}: {}", stage_name(stage), stage.reason)).collect();
    ReasonedVerdict::new(verdict, format!("Failed stages: {}", reasons.join("; ")))
}

fn is_required_failure(stage: &CheckEvidence) -> bool {
    stage.required && stage.verdict != Verdict::Accepted
}

fn describe_passed_stages(stages: &[CheckEvidence]) -> String {
    let warnings: Vec<String> = stages
        .iter()
        .filter(|stage| stage.verdict != Verdict::Accepted)
        .map(|stage| format!("{}: {}", stage_name(stage), stage.reason))
        .collect();
    let optional =
        if warnings.is_empty() { String::new() } else { format!(" (optional stages failed: {})", warnings.join("; ")) };
    format!("All {} verification stages passed{optional}", stages.len() - warnings.len())
}

fn stage_name(stage: &CheckEvidence) -> String {
    stage.name.clone().unwrap_or_else(|| "unnamed".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::EvidenceKind;

    fn stage_evidence(name: &str, required: bool, verdict: Verdict) -> CheckEvidence {
        let reason = format!("{name} is {}", verdict.as_str());
        let plain = CheckEvidence::without_output(EvidenceKind::External, name.to_string(), verdict, reason);
        CheckEvidence { name: Some(name.to_string()), required, ..plain }
    }

    // spec: V4
    #[test]
    fn a_required_failure_rejects_and_names_its_stage() {
        let stages = [stage_evidence("lint", true, Verdict::Accepted), stage_evidence("test", true, Verdict::Rejected)];
        assert!(can_skip_remaining_stages(true, &stages) && !can_skip_remaining_stages(false, &stages));
        let expected = ReasonedVerdict::new(Verdict::Rejected, "Stage 'test' failed: test is rejected");
        assert_eq!(evaluate_stages(true, &stages), expected);
    }

    // spec: V4
    #[test]
    fn without_require_all_every_required_failure_is_named() {
        let stages = [
            stage_evidence("a", true, Verdict::CouldNotEvaluate),
            stage_evidence("b", true, Verdict::Rejected),
            stage_evidence("c", false, Verdict::Rejected),
        ];
        let reason = "Failed stages: a: a is could_not_evaluate; b: b is rejected";
        assert_eq!(evaluate_stages(false, &stages), ReasonedVerdict::new(Verdict::Rejected, reason));
    }

    // spec: V4
    #[test]
    fn an_optional_failure_is_only_a_warning() {
        let stages = [stage_evidence("a", true, Verdict::Accepted), stage_evidence("b", false, Verdict::Rejected)];
        let reason = "All 1 verification stages passed (optional stages failed: b: b is rejected)";
        assert_eq!(evaluate_stages(true, &stages), ReasonedVerdict::new(Verdict::Accepted, reason));
    }

    // spec: V4, V7
    #[test]
    fn stages_that_could_not_be_evaluated_are_not_a_verified_failure() {
        let stages = [stage_evidence("a", true, Verdict::CouldNotEvaluate)];
        assert_eq!(evaluate_stages(true, &stages).verdict, Verdict::CouldNotEvaluate);
    }
}
