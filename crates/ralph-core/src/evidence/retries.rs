//! What several looks at the same criterion say together. A failure that did not last is told, never hidden.
use alloc::format;

use super::{CheckEvidence, Verdict, sum_judge_spend};
use crate::attempt::ModelSpend;

/// Returns the last look as the evidence of all of them. `allowed` is how many there might have been.
#[must_use]
pub fn merge_retries(last: CheckEvidence, earlier: &[CheckEvidence], max_tries: u32) -> CheckEvidence {
    if earlier.is_empty() {
        return last;
    }
    let tries = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
    let reason = match last.verdict {
        Verdict::Accepted => format!("{} (flaky: passed at try {tries} of {max_tries})", last.reason),
        Verdict::Rejected | Verdict::CouldNotEvaluate => {
            format!("{} (at try {tries} of {max_tries})", last.reason)
        }
    };
    CheckEvidence {
        tries,
        reason,
        duration_ms: earlier.iter().fold(last.duration_ms, |sum, one| sum.saturating_add(one.duration_ms)),
        leftovers: earlier.iter().fold(last.leftovers, |sum, one| sum.saturating_add(one.leftovers)),
        spend: [sum_judge_spend(earlier), last.spend].into_iter().flatten().reduce(ModelSpend::add_known),
        ..last
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::evidence::EvidenceKind;

    fn external_evidence(verdict: Verdict) -> CheckEvidence {
        let plain =
            CheckEvidence::without_output(EvidenceKind::External, "make".to_string(), verdict, "so".to_string());
        CheckEvidence { duration_ms: 5, leftovers: 1, spend: Some(ModelSpend::default()), ..plain }
    }

    // fault: 77
    // spec: V12
    #[test]
    fn a_check_that_passes_only_when_looked_at_again_is_called_flaky() {
        let failed = [external_evidence(Verdict::Rejected)];
        let flaky = merge_retries(external_evidence(Verdict::Accepted), &failed, 3);
        assert!(flaky.is_flaky());
        assert_eq!(flaky.reason, "so (flaky: passed at try 2 of 3)");
        assert_eq!((flaky.tries, flaky.duration_ms, flaky.leftovers), (2, 10, 2));
    }

    // spec: V12
    #[test]
    fn a_check_that_fails_every_time_says_how_often_it_was_tried() {
        let failed = [external_evidence(Verdict::Rejected), external_evidence(Verdict::CouldNotEvaluate)];
        let last = merge_retries(external_evidence(Verdict::Rejected), &failed, 3);
        assert_eq!((last.reason.as_str(), last.is_flaky()), ("so (at try 3 of 3)", false));
        let first = merge_retries(external_evidence(Verdict::Accepted), &[], 3);
        assert_eq!((first.tries, first.reason.as_str()), (1, "so"), "what passes at once is told plainly");
    }
}
