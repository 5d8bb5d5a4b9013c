//! Stall detection: counts consecutive iterations that change neither the work tree, nor the commit, nor the unmet
//! criteria.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, Evidence, Verdict};
use crate::text::text_tail;

/// Counts iterations without a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallCounter {
    /// Consecutive iterations without a change.
    pub still: u32,
    /// The unmet criteria of the last verdict.
    #[serde(default)]
    pub unmet: Option<Vec<String>>,
}

/// The decision after an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallDecision {
    /// The next iteration starts as usual.
    Continue,
    /// The run ends unless the next iteration changes something.
    LastChance {
        unchanged_iterations: u32,
    },
    Stop {
        unchanged_iterations: u32,
    },
}

impl StallCounter {
    /// Stores the unmet criteria, and returns whether they differ from those of the last verdict.
    pub fn record_unmet_criteria(&mut self, evidence: &Evidence) -> bool {
        let unmet: Vec<String> = evidence.checks.iter().flat_map(unmet_criteria).take(MAX_UNMET_NAMES).collect();
        let is_different = self.unmet.as_ref().is_some_and(|before| *before != unmet);
        self.unmet = Some(unmet);
        is_different
    }

    /// Counts an iteration that has ended. `max_unchanged` is the limit of unchanged iterations; 0 disables the limit.
    pub fn count_iteration(&mut self, has_changed_files: bool, max_unchanged: u32) -> StallDecision {
        self.still = if has_changed_files { 0 } else { self.still.saturating_add(1) };
        match self.still {
            _ if max_unchanged == 0 => StallDecision::Continue,
            still if still >= max_unchanged => StallDecision::Stop { unchanged_iterations: still },
            still if still > 0 && still + 1 == max_unchanged => {
                StallDecision::LastChance { unchanged_iterations: still }
            }
            _ => StallDecision::Continue,
        }
    }
}

/// Returns the names of the unmet criteria of a check. For a staged check, these are the failed stages.
fn unmet_criteria(check: &CheckEvidence) -> Vec<String> {
    let name = || check.name.as_deref().unwrap_or(&check.command);
    match check.verdict {
        Verdict::Accepted => Vec::new(),
        _ if check.stages.is_empty() => Vec::from([text_tail(name(), MAX_NAME_BYTES).into()]),
        Verdict::Rejected | Verdict::CouldNotEvaluate => check.stages.iter().flat_map(unmet_criteria).collect(),
    }
}

/// Bounds of the stored names, so that the stored state stays small.
const MAX_UNMET_NAMES: usize = 64;
const MAX_NAME_BYTES: usize = 200;

/// Returns the reason of a stalled run.
#[must_use]
pub fn stall_reason(unchanged_iterations: u32) -> String {
    format!(
        "{unchanged_iterations} iterations in a row changed no file, made no commit and met no further criterion \
         (stall.iterations)"
    )
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::evidence::EvidenceKind;

    fn rejected_evidence(commands: &[&str]) -> Evidence {
        let check = |command: &&str| {
            CheckEvidence::without_output(EvidenceKind::External, command.to_string(), Verdict::Rejected, String::new())
        };
        Evidence { checks: commands.iter().map(check).collect() }
    }

    // spec: L9
    #[test]
    fn unchanged_iterations_are_counted_in_a_row_and_the_last_chance_is_announced() {
        let mut stall = StallCounter::default();
        assert_eq!(stall.count_iteration(false, 3), StallDecision::Continue);
        assert_eq!(stall.count_iteration(false, 3), StallDecision::LastChance { unchanged_iterations: 2 });
        assert_eq!(stall.count_iteration(false, 3), StallDecision::Stop { unchanged_iterations: 3 });
        assert_eq!(stall.count_iteration(true, 3), StallDecision::Continue, "any change resets the count");
        assert_eq!(stall.still, 0);
    }

    // spec: L9
    #[test]
    fn a_disabled_stall_limit_never_stops_the_run() {
        let mut stall = StallCounter::default();
        assert!((0..100).all(|_| stall.count_iteration(false, 0) == StallDecision::Continue));
    }

    // spec: L9
    #[test]
    fn different_unmet_criteria_count_as_progress_and_the_same_ones_do_not() {
        let mut stall = StallCounter::default();
        assert!(!stall.record_unmet_criteria(&rejected_evidence(&["a", "b"])), "there is nothing to compare with");
        assert!(!stall.record_unmet_criteria(&rejected_evidence(&["a", "b"])));
        assert!(stall.record_unmet_criteria(&rejected_evidence(&["b"])));
    }

    // spec: L9
    #[test]
    fn a_limit_of_one_stops_at_the_first_unchanged_iteration_and_not_after_a_change() {
        let mut stall = StallCounter::default();
        assert_eq!(stall.count_iteration(true, 1), StallDecision::Continue);
        assert_eq!(stall.count_iteration(false, 1), StallDecision::Stop { unchanged_iterations: 1 });
    }

    // spec: L9, V4
    #[test]
    fn another_failed_stage_counts_as_progress() {
        let staged = |failed: &str| {
            let mut evidence = rejected_evidence(&["stages"]);
            evidence.checks[0].stages = rejected_evidence(&["lint", "test"]).checks;
            for stage in &mut evidence.checks[0].stages {
                stage.verdict = if stage.command == failed { Verdict::Rejected } else { Verdict::Accepted };
            }
            evidence
        };
        let mut stall = StallCounter::default();
        assert!(!stall.record_unmet_criteria(&staged("lint")));
        assert_eq!(stall.unmet, Some(Vec::from(["lint".to_string()])), "an accepted stage is met");
        assert!(stall.record_unmet_criteria(&staged("test")));
        assert!(!stall.record_unmet_criteria(&staged("test")));
    }

    // spec: L9
    #[test]
    fn the_reason_of_a_stalled_run_counts_its_unchanged_iterations() {
        assert!(stall_reason(3).starts_with("3 iterations in a row changed no file"), "{}", stall_reason(3));
    }
}
