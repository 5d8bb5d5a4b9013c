//! Compares a receipt with a recheck of it.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::receipt_check::pair_repeatable_checks;
use super::{BaselineRecheck, Receipt, ReceiptCheck};
use crate::evidence::Verdict;

/// The result of a recheck.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiptRecheck {
    /// Whether the stored receipt matches its stored hash.
    pub is_hash_valid: bool,
    /// Whether the receipt matches the journal.
    pub matches_journal: bool,
    /// Whether `receipt.json` in the run folder is identical, or does not exist.
    pub is_copy_identical: bool,
    /// The hash of the criteria that are stored with the run.
    pub criteria_sha256: String,
    /// The tree of the commit that was checked out.
    pub tree: String,
    /// The results of the repeated checks.
    pub checks: Vec<ReceiptCheck>,
    /// The results of the checks on the files before the work.
    pub baseline: BaselineRecheck,
}

/// A reason not to trust a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiptDiscrepancy {
    HashMismatch,
    JournalMismatch,
    CopyMismatch,
    CriteriaMismatch,
    TreeMismatch { found: String },
    CheckMismatch { command: String, before: Verdict, now: Option<Verdict>, reason: String },
    BaselineMismatch { command: String },
}

impl ReceiptDiscrepancy {
    /// Returns whether a check could not be evaluated, so that the recheck neither confirms nor refutes the receipt.
    #[must_use]
    pub fn is_inconclusive(&self) -> bool {
        match self {
            Self::CheckMismatch { now, .. } => *now == Some(Verdict::CouldNotEvaluate),
            Self::HashMismatch
            | Self::JournalMismatch
            | Self::CopyMismatch
            | Self::CriteriaMismatch
            | Self::TreeMismatch { .. }
            | Self::BaselineMismatch { .. } => false,
        }
    }
}

impl fmt::Display for ReceiptDiscrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HashMismatch => f.write_str("the stored receipt does not match its stored hash"),
            Self::JournalMismatch => f.write_str("the receipt does not match the journal of the run"),
            Self::CopyMismatch => {
                f.write_str("receipt.json in the run folder is forged: it differs from the stored receipt")
            }
            Self::CriteriaMismatch => f.write_str("the criteria of the run differ from those of the receipt"),
            Self::TreeMismatch { found } => {
                write!(f, "the commit has the tree {found}, which is not the verified tree")
            }
            Self::CheckMismatch { command, before, now: Some(now), reason } => {
                write!(f, "`{command}` was {} and is {} now: {reason}", before.as_str(), now.as_str())
            }
            Self::CheckMismatch { command, before, now: None, .. } => {
                write!(f, "`{command}` was {} and was not run again", before.as_str())
            }
            Self::BaselineMismatch { command } => {
                write!(f, "`{command}` failed before the work according to the receipt, but passes on the base commit")
            }
        }
    }
}

/// Returns every reason not to trust a receipt. An empty list confirms it.
#[must_use]
pub fn find_discrepancies(receipt: &Receipt, recheck: &ReceiptRecheck) -> Vec<ReceiptDiscrepancy> {
    let comparisons = [
        (recheck.is_hash_valid, ReceiptDiscrepancy::HashMismatch),
        (recheck.matches_journal, ReceiptDiscrepancy::JournalMismatch),
        (recheck.is_copy_identical, ReceiptDiscrepancy::CopyMismatch),
        (recheck.criteria_sha256 == receipt.input.criteria_sha256, ReceiptDiscrepancy::CriteriaMismatch),
        (is_verified_tree(receipt, &recheck.tree), ReceiptDiscrepancy::TreeMismatch { found: recheck.tree.clone() }),
    ];
    let mismatches = comparisons.into_iter().filter(|(is_equal, _)| !is_equal).map(|(_, discrepancy)| discrepancy);
    let checks = pair_repeatable_checks(&receipt.findings.checks, &recheck.checks)
        .filter_map(|(check, now)| check_discrepancy(check, now));
    let baseline = recheck.baseline.passing_commands(&receipt.findings.baseline);
    let baseline = baseline.into_iter().map(|command| ReceiptDiscrepancy::BaselineMismatch { command });
    mismatches.chain(checks).chain(baseline).collect()
}

fn is_verified_tree(receipt: &Receipt, tree: &str) -> bool {
    receipt.input.repository.as_ref().is_some_and(|snapshot| snapshot.tree == tree)
}

fn check_discrepancy(check: &ReceiptCheck, now: Option<&ReceiptCheck>) -> Option<ReceiptDiscrepancy> {
    (!check.is_confirmed_by(now)).then(|| ReceiptDiscrepancy::CheckMismatch {
        command: check.command.clone(),
        before: check.verdict,
        now: now.map(|now| now.verdict),
        reason: now.map(|now| now.reason.clone()).unwrap_or_default(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;
    use crate::baseline::{BaselineCheck, BaselineProblem, BaselineStatus, BaselineTrial};
    use crate::evidence::{CheckEvidence, EvidenceKind};
    use crate::receipt::{ReceiptBaselineCheck, ReceiptFindings, ReceiptInput, WorkTreeSnapshot};

    fn receipt_check(verdict: Verdict) -> ReceiptCheck {
        (&CheckEvidence::without_output(EvidenceKind::External, "make".to_string(), verdict, "so".to_string())).into()
    }

    pub(in crate::receipt) fn sample_receipt() -> Receipt {
        let repository = WorkTreeSnapshot { commit: None, tree: "t".to_string(), is_committed: true, left_out: None };
        let input = ReceiptInput {
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
            input,
            findings: ReceiptFindings { checks: vec![receipt_check(Verdict::Accepted)], ..ReceiptFindings::default() },
        }
    }

    fn matching_recheck() -> ReceiptRecheck {
        ReceiptRecheck {
            is_hash_valid: true,
            matches_journal: true,
            is_copy_identical: true,
            criteria_sha256: "c".to_string(),
            tree: "t".to_string(),
            checks: vec![receipt_check(Verdict::Accepted)],
            baseline: BaselineRecheck::Finished(Vec::new()),
        }
    }

    // spec: V14
    #[test]
    fn a_receipt_is_confirmed_if_everything_matches() {
        assert_eq!(find_discrepancies(&sample_receipt(), &matching_recheck()), []);
    }

    // spec: V14
    #[test]
    fn every_difference_is_a_separate_discrepancy() {
        let discrepancies = |change: fn(&mut ReceiptRecheck)| {
            let mut recheck = matching_recheck();
            change(&mut recheck);
            find_discrepancies(&sample_receipt(), &recheck)
        };
        assert_eq!(discrepancies(|recheck| recheck.is_hash_valid = false), [ReceiptDiscrepancy::HashMismatch]);
        assert_eq!(discrepancies(|recheck| recheck.matches_journal = false), [ReceiptDiscrepancy::JournalMismatch]);
        assert_eq!(discrepancies(|recheck| recheck.is_copy_identical = false), [ReceiptDiscrepancy::CopyMismatch]);
        assert_eq!(discrepancies(|recheck| recheck.criteria_sha256.clear()), [ReceiptDiscrepancy::CriteriaMismatch]);
        assert_eq!(
            discrepancies(|recheck| recheck.tree = "u".to_string()),
            [ReceiptDiscrepancy::TreeMismatch { found: "u".to_string() }]
        );
        let [rejected] = &discrepancies(|recheck| recheck.checks = vec![receipt_check(Verdict::Rejected)])[..] else {
            panic!()
        };
        assert_eq!(rejected.to_string(), "`make` was accepted and is rejected now: so");
        let [missing] = &discrepancies(|recheck| recheck.checks.clear())[..] else { panic!() };
        assert_eq!(missing.to_string(), "`make` was accepted and was not run again");
    }

    // spec: V16
    #[test]
    fn a_baseline_that_passes_now_is_a_discrepancy() {
        let mut receipt = sample_receipt();
        receipt.findings.baseline =
            vec![ReceiptBaselineCheck { command: "make".to_string(), standing: BaselineStatus::Fails }];
        let passing =
            CheckEvidence::without_output(EvidenceKind::External, "make".to_string(), Verdict::Accepted, String::new());
        let lack = BaselineProblem::NotFixableByAgent;
        let baseline = vec![BaselineCheck::from_trial(BaselineTrial { evidence: passing, lack })];
        let recheck = ReceiptRecheck { baseline: BaselineRecheck::Finished(baseline), ..matching_recheck() };
        let [found] = &find_discrepancies(&receipt, &recheck)[..] else { panic!() };
        assert_eq!(
            found.to_string(),
            "`make` failed before the work according to the receipt, but passes on the base commit"
        );
        assert!(!found.is_inconclusive());
    }
}
