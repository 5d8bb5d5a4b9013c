//! Whether another look confirms a receipt, and if not, why not.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::checked::pairs;
use super::{Checked, Receipt};
use crate::evidence::Verdict;

/// What was found when a receipt was looked at again.
#[derive(Debug, Clone, PartialEq)]
pub struct Again {
    /// Whether the stored receipt has the hash that was stored with it.
    pub is_whole: bool,
    /// Whether it says what the journal says.
    pub agrees: bool,
    /// Whether the copy for people says the same, where there is one.
    pub copy_is_same: bool,
    /// The hash of the criteria that are stored with the run.
    pub criteria_sha256: String,
    /// The tree of the commit that was checked out.
    pub tree: String,
    /// The checks that could be repeated.
    pub checks: Vec<Checked>,
}

/// A reason not to believe a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    Changed,
    Journal,
    Copy,
    Criteria,
    Tree { found: String },
    Check { command: String, before: Verdict, now: Option<Verdict>, reason: String },
}

impl Doubt {
    /// Tells whether nobody could look, so that nothing speaks against the receipt.
    #[must_use]
    pub fn is_blind(&self) -> bool {
        match self {
            Self::Check { now, .. } => *now == Some(Verdict::CouldNotEvaluate),
            Self::Changed | Self::Journal | Self::Copy | Self::Criteria | Self::Tree { .. } => false,
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed => f.write_str("the stored receipt is not what was stored: its hash is another"),
            Self::Journal => f.write_str("the receipt does not say what the journal of the run says"),
            Self::Copy => {
                f.write_str("receipt.json in the folder of the run is forged: another receipt is stored")
            }
            Self::Criteria => f.write_str("the criteria of the run are not those of the receipt"),
            Self::Tree { found } => {
                write!(f, "the commit holds the tree {found}, which is not the one that was verified")
            }
            Self::Check { command, before, now: Some(now), reason } => {
                write!(f, "`{command}` was {} and is {} now: {reason}", before.as_str(), now.as_str())
            }
            Self::Check { command, before, now: None, .. } => {
                write!(f, "`{command}` was {}, and did not run again", before.as_str())
            }
        }
    }
}

/// Returns every reason not to believe a receipt. Where there is none, it is confirmed.
#[must_use]
pub fn doubts(receipt: &Receipt, again: &Again) -> Vec<Doubt> {
    let plain = [
        (again.is_whole, Doubt::Changed),
        (again.agrees, Doubt::Journal),
        (again.copy_is_same, Doubt::Copy),
        (again.criteria_sha256 == receipt.given.criteria_sha256, Doubt::Criteria),
        (is_same_tree(receipt, &again.tree), Doubt::Tree { found: again.tree.clone() }),
    ];
    let plain = plain.into_iter().filter(|(holds, _)| !holds).map(|(_, doubt)| doubt);
    let checks = pairs(&receipt.told.checks, &again.checks).filter_map(|(check, now)| doubt_of(check, now));
    plain.chain(checks).collect()
}

fn is_same_tree(receipt: &Receipt, tree: &str) -> bool {
    receipt.given.repository.as_ref().is_some_and(|seen| seen.tree == tree)
}

fn doubt_of(check: &Checked, now: Option<&Checked>) -> Option<Doubt> {
    (!check.is_confirmed_by(now)).then(|| Doubt::Check {
        command: check.command.clone(),
        before: check.verdict,
        now: now.map(|now| now.verdict),
        reason: now.map(|now| now.reason.clone()).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;
    use crate::evidence::{CheckEvidence, Kind};
    use crate::receipt::{Given, Snapshot, Told};

    fn check(verdict: Verdict) -> Checked {
        (&CheckEvidence::plain(Kind::External, "make".to_string(), verdict, "so".to_string())).into()
    }

    fn receipt() -> Receipt {
        let repository = Snapshot { commit: None, tree: "t".to_string(), is_committed: true, left_out: None };
        let given = Given {
            run: "r".to_string(),
            task: None,
            role: None,
            criteria: Vec::new(),
            criteria_sha256: "c".to_string(),
            repository: Some(repository),
            agent_version: None,
            ralph: "1".to_string(),
            started_at: "then".to_string(),
            finished_at: "now".to_string(),
        };
        Receipt {
            version: 1,
            given,
            told: Told { checks: vec![check(Verdict::Accepted)], ..Told::default() },
        }
    }

    fn again() -> Again {
        Again {
            is_whole: true,
            agrees: true,
            copy_is_same: true,
            criteria_sha256: "c".to_string(),
            tree: "t".to_string(),
            checks: vec![check(Verdict::Accepted)],
        }
    }

    // spec: V14
    #[test]
    fn a_receipt_is_confirmed_when_everything_is_as_it_says() {
        assert_eq!(doubts(&receipt(), &again()), []);
    }

    // spec: V14
    #[test]
    fn every_difference_is_a_doubt_of_its_own() {
        let doubt = |change: fn(&mut Again)| {
            let mut again = again();
            change(&mut again);
            doubts(&receipt(), &again)
        };
        assert_eq!(doubt(|again| again.is_whole = false), [Doubt::Changed]);
        assert_eq!(doubt(|again| again.agrees = false), [Doubt::Journal]);
        assert_eq!(doubt(|again| again.copy_is_same = false), [Doubt::Copy]);
        assert_eq!(doubt(|again| again.criteria_sha256.clear()), [Doubt::Criteria]);
        assert_eq!(doubt(|again| again.tree = "u".to_string()), [Doubt::Tree { found: "u".to_string() }]);
        let [rejected] = &doubt(|again| again.checks = vec![check(Verdict::Rejected)])[..] else { panic!() };
        assert_eq!(rejected.to_string(), "`make` was accepted and is rejected now: so");
        let [missing] = &doubt(|again| again.checks.clear())[..] else { panic!() };
        assert_eq!(missing.to_string(), "`make` was accepted, and did not run again");
    }
}
