//! The receipt of an accepted completion: the claim, the checks, and the verified files. It is built from the facts of
//! the run and from additional input of the driver, so that it can be compared with the journal.
mod baseline_recheck;
mod proof_level;
mod receipt_builder;
mod receipt_check;
mod recheck;
mod repeatability;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::ModelSpend;
use crate::baseline::BaselineStatus;
use crate::criterion::Criterion;
use crate::decision::PersonDecision;

pub use baseline_recheck::{BaselineRecheck, reason_against_baseline_recheck};
pub use proof_level::{BaselineResult, Proof, ProofLevel, reason_against_proof};
pub use receipt_builder::{CompletedRun, ReceiptBuilder};
pub use receipt_check::ReceiptCheck;
pub use recheck::{ReceiptDiscrepancy, ReceiptRecheck, find_discrepancies};
pub use repeatability::{program_criteria, repeatable_criteria};

/// The version of this format. Within it, keys are only added.
pub const RECEIPT_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub version: u32,
    #[serde(flatten)]
    pub input: ReceiptInput,
    #[serde(flatten)]
    pub findings: ReceiptFindings,
}

/// The parts of a receipt that are not in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptInput {
    pub run: String,
    /// The task and the role of the run, if it has them.
    pub task: Option<String>,
    pub role: Option<String>,
    pub criteria: Vec<Criterion>,
    pub criteria_sha256: String,
    /// The work tree at the time of verification; `None` if git could not read it.
    pub repository: Option<WorkTreeSnapshot>,
    /// The version of the agent, if a package next to its program contains it.
    pub agent_version: Option<String>,
    /// The version of ralph.
    pub ralph: String,
    /// Times in UTC, as in all machine-readable output.
    pub started_at: String,
    pub finished_at: String,
}

/// The parts of a receipt that follow from the journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiptFindings {
    pub kind: String,
    pub agent: String,
    pub model: Option<String>,
    pub session: Option<String>,
    pub promise: String,
    /// The hash of everything that was sealed before the work.
    #[serde(rename = "seal_sha256", default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// The results of the external checks before the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<ReceiptBaselineCheck>,
    /// Where the claim was found.
    pub claim: String,
    /// Whether at least one check verified more than the agent's claim.
    #[serde(rename = "verified")]
    pub is_verified: bool,
    /// The proof level and its reason; `None` in a receipt of an older ralph.
    #[serde(flatten)]
    pub proof: Option<Proof>,
    /// The person who accepted the claim, if the checks did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_by: Option<PersonDecision>,
    pub reason: String,
    pub iterations: u32,
    pub checks: Vec<ReceiptCheck>,
    #[serde(flatten)]
    pub spend: ModelSpend,
}

impl ReceiptFindings {
    /// Returns the proof level. A receipt of an older ralph has none: its checks are at most `checked`.
    #[must_use]
    pub fn proof(&self) -> Proof {
        self.proof.clone().unwrap_or_else(|| Proof::of_old_receipt(self.is_verified))
    }
}

/// An external check before the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptBaselineCheck {
    pub command: String,
    pub standing: BaselineStatus,
}

/// The content of the work tree at the time of verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTreeSnapshot {
    /// The checked-out commit; `None` if the repository has no commits.
    pub commit: Option<String>,
    /// The git tree hash of all files that are not ignored.
    pub tree: String,
    /// Whether the tree is that of the commit.
    #[serde(rename = "committed")]
    pub is_committed: bool,
    /// The message of git about files that it could not include.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}
