//! The receipt of an accepted completion: what was claimed, what was verified, and on which files. It is built from the
//! facts of the run and from what the driver knows besides; whoever has the journal can hold one against the other.
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

pub use receipt_builder::{CompletedRun, ReceiptBuilder};
pub use receipt_check::ReceiptCheck;
pub use recheck::{ReceiptDiscrepancy, ReceiptRecheck, find_discrepancies};
pub use repeatability::repeatable_criteria;

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

/// What the journal does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptInput {
    pub run: String,
    /// The task that the run worked on, and in which role, where it did.
    pub task: Option<String>,
    pub role: Option<String>,
    pub criteria: Vec<Criterion>,
    pub criteria_sha256: String,
    /// The work tree as it was when it was verified; without one, git could not tell.
    pub repository: Option<WorkTreeSnapshot>,
    /// The agent's version, where a package beside its program tells.
    pub agent_version: Option<String>,
    /// The version of ralph.
    pub ralph: String,
    /// Times in UTC, as everywhere in the output for programs.
    pub started_at: String,
    pub finished_at: String,
}

/// What follows from the journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiptFindings {
    pub kind: String,
    pub agent: String,
    pub model: Option<String>,
    pub session: Option<String>,
    pub promise: String,
    /// The hash over all that was sealed before the work.
    #[serde(rename = "seal_sha256", default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// What the external checks were worth before the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<ReceiptBaselineCheck>,
    /// Where the claim stands.
    pub claim: String,
    /// Whether anything but the agent's own word stands behind the completion.
    #[serde(rename = "verified")]
    pub is_verified: bool,
    pub reason: String,
    pub iterations: u32,
    pub checks: Vec<ReceiptCheck>,
    #[serde(flatten)]
    pub spend: ModelSpend,
}

/// An external check before the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptBaselineCheck {
    pub command: String,
    pub standing: BaselineStatus,
}

/// What the work tree held when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTreeSnapshot {
    /// The commit that it stood on; none where nothing was ever committed.
    pub commit: Option<String>,
    /// The hash of the tree of all files that git does not ignore, as a commit of them would have it.
    pub tree: String,
    /// Whether that is the tree of the commit.
    #[serde(rename = "committed")]
    pub is_committed: bool,
    /// What git could not take into it, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}
