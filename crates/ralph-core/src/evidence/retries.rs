//! Merges the evidence of several tries of one criterion. The result reports earlier failures as flaky.
use alloc::format;

use super::{CheckEvidence, Verdict, sum_judge_spend};
use crate::attempt::ModelSpend;

/// Returns the evidence of the last try, with the totals of all tries. `max_tries` is the allowed number of tries.
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
        duration_ms: earlier.iter().fold(last.duration_ms, |sum, check| sum.saturating_add(check.duration_ms)),
        leftovers: earlier.iter().fold(last.leftovers, |sum, check| sum.saturating_add(check.leftovers)),
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
    fn a_check_that_passes_only_after_a_retry_is_flaky() {
        let failed = [external_evidence(Verdict::Rejected)];
        let flaky = merge_retries(external_evidence(Verdict::Accepted), &failed, 3);
        assert!(flaky.is_flaky());
        assert_eq!(flaky.reason, "so (flaky: passed at try 2 of 3)");
        assert_eq!((flaky.tries, flaky.duration_ms, flaky.leftovers), (2, 10, 2));
    }

    // spec: V12
    #[test]
    fn the_reason_of_a_check_that_always_fails_says_how_often_it_was_tried() {
        let failed = [external_evidence(Verdict::Rejected), external_evidence(Verdict::CouldNotEvaluate)];
        let last = merge_retries(external_evidence(Verdict::Rejected), &failed, 3);
        assert_eq!((last.reason.as_str(), last.is_flaky()), ("so (at try 3 of 3)", false));
        let first = merge_retries(external_evidence(Verdict::Accepted), &[], 3);
        assert_eq!((first.tries, first.reason.as_str()), (1, "so"), "a check that passes at once has a plain reason");
        assert!(!first.is_flaky());
    }

    // spec: L8, V12
    #[test]
    fn the_spend_of_every_try_counts() {
        let judged = |tokens| {
            let spend = Some(ModelSpend { input_tokens: Some(tokens), ..ModelSpend::default() });
            CheckEvidence { spend, ..external_evidence(Verdict::Rejected) }
        };
        let merged = merge_retries(judged(1), &[judged(2), judged(4)], 3);
        assert_eq!(merged.spend.and_then(|spend| spend.input_tokens), Some(7));
    }
}
