//! When a run gets nowhere: iterations in a row that change neither the work tree, nor the commit, nor which criteria are
//! unmet.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, Evidence, Verdict};
use crate::text::tail_of;

/// How long nothing has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// Iterations in a row.
    pub still: u32,
    /// The criteria that were not met when it was last looked.
    #[serde(default)]
    pub unmet: Option<Vec<String>>,
}

/// What an unchanged iteration leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// The next one is like the last.
    Left,
    /// The next one is the last chance.
    Last {
        still: u32,
    },
    Over {
        still: u32,
    },
}

impl Stall {
    /// Takes note of what is unmet now, and tells whether that is something else than before.
    pub fn note_unmet(&mut self, evidence: &Evidence) -> bool {
        let unmet: Vec<String> = evidence.checks.iter().flat_map(unmet).take(MOST).collect();
        let is_other = self.unmet.as_ref().is_some_and(|before| *before != unmet);
        self.unmet = Some(unmet);
        is_other
    }

    /// Counts an iteration that is over. `most` is how many may change nothing; 0 is any number.
    pub fn count(&mut self, has_moved: bool, most: u32) -> Patience {
        self.still = if has_moved { 0 } else { self.still.saturating_add(1) };
        match self.still {
            _ if most == 0 => Patience::Left,
            still if still >= most => Patience::Over { still },
            still if still > 0 && still + 1 == most => Patience::Last { still },
            _ => Patience::Left,
        }
    }
}

/// Names what a check found unmet: of stages, those that failed.
fn unmet(check: &CheckEvidence) -> Vec<String> {
    let own = || check.name.as_deref().unwrap_or(&check.command);
    match check.verdict {
        Verdict::Accepted => Vec::new(),
        _ if check.stages.is_empty() => Vec::from([tail_of(own(), NAME_BYTES).into()]),
        Verdict::Rejected | Verdict::CouldNotEvaluate => check.stages.iter().flat_map(unmet).collect(),
    }
}

/// More names, or longer ones, are not kept: the loop stays small.
const MOST: usize = 64;
const NAME_BYTES: usize = 200;

/// Says why a run that stands still ends.
#[must_use]
pub fn reason(still: u32) -> String {
    format!(
        "{still} iterations in a row changed neither a file, nor the commit, nor which criteria are unmet \
         (stall.iterations)"
    )
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::evidence::Kind;

    fn unmet(commands: &[&str]) -> Evidence {
        let check = |command: &&str| {
            CheckEvidence::plain(Kind::External, command.to_string(), Verdict::Rejected, String::new())
        };
        Evidence { checks: commands.iter().map(check).collect() }
    }

    // spec: L9
    #[test]
    fn still_iterations_are_counted_in_a_row_and_the_one_before_the_end_is_told() {
        let mut stall = Stall::default();
        assert_eq!(stall.count(false, 3), Patience::Left);
        assert_eq!(stall.count(false, 3), Patience::Last { still: 2 });
        assert_eq!(stall.count(false, 3), Patience::Over { still: 3 });
        assert_eq!(stall.count(true, 3), Patience::Left, "any change begins the row anew");
        assert_eq!(stall.still, 0);
    }

    // spec: L9
    #[test]
    fn nothing_is_too_long_where_the_breaker_is_off() {
        let mut stall = Stall::default();
        assert!((0..100).all(|_| stall.count(false, 0) == Patience::Left));
    }

    // spec: L9
    #[test]
    fn other_unmet_criteria_are_movement_and_the_same_ones_are_not() {
        let mut stall = Stall::default();
        assert!(!stall.note_unmet(&unmet(&["a", "b"])), "there was nothing to compare it with");
        assert!(!stall.note_unmet(&unmet(&["a", "b"])));
        assert!(stall.note_unmet(&unmet(&["b"])));
    }
}
