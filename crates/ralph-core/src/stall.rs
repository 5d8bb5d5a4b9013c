//! When a run gets nowhere: iterations in a row that change neither the work tree, nor the commit, nor which criteria are
//! unmet.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, Evidence, Verdict};
use crate::text::text_tail;

/// How long nothing has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallCounter {
    /// Iterations in a row.
    pub still: u32,
    /// The criteria that were not met when it was last looked.
    #[serde(default)]
    pub unmet: Option<Vec<String>>,
}

/// What an unchanged iteration leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallDecision {
    /// The next one is like the last.
    Continue,
    /// The next one is the last chance.
    LastChance {
        unchanged_iterations: u32,
    },
    Stop {
        unchanged_iterations: u32,
    },
}

impl StallCounter {
    /// Takes note of what is unmet now, and tells whether that is something else than before.
    pub fn record_unmet_criteria(&mut self, evidence: &Evidence) -> bool {
        let unmet: Vec<String> = evidence.checks.iter().flat_map(unmet_criteria).take(MAX_UNMET_NAMES).collect();
        let is_other = self.unmet.as_ref().is_some_and(|before| *before != unmet);
        self.unmet = Some(unmet);
        is_other
    }

    /// Counts an iteration that is over. `most` is how many may change nothing; 0 is any number.
    pub fn count_iteration(&mut self, has_moved: bool, max_unchanged: u32) -> StallDecision {
        self.still = if has_moved { 0 } else { self.still.saturating_add(1) };
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

/// Names what a check found unmet: of stages, those that failed.
fn unmet_criteria(check: &CheckEvidence) -> Vec<String> {
    let own = || check.name.as_deref().unwrap_or(&check.command);
    match check.verdict {
        Verdict::Accepted => Vec::new(),
        _ if check.stages.is_empty() => Vec::from([text_tail(own(), MAX_NAME_BYTES).into()]),
        Verdict::Rejected | Verdict::CouldNotEvaluate => check.stages.iter().flat_map(unmet_criteria).collect(),
    }
}

/// More names, or longer ones, are not kept: the loop stays small.
const MAX_UNMET_NAMES: usize = 64;
const MAX_NAME_BYTES: usize = 200;

/// Says why a run that stands still ends.
#[must_use]
pub fn stall_reason(unchanged_iterations: u32) -> String {
    format!(
        "{unchanged_iterations} iterations in a row changed neither a file, nor the commit, nor which criteria are unmet \
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
        assert_eq!(stall.count_iteration(true, 3), StallDecision::Continue, "any change begins the row anew");
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
        assert!(!stall.record_unmet_criteria(&rejected_evidence(&["a", "b"])), "there was nothing to compare it with");
        assert!(!stall.record_unmet_criteria(&rejected_evidence(&["a", "b"])));
        assert!(stall.record_unmet_criteria(&rejected_evidence(&["b"])));
    }
}
