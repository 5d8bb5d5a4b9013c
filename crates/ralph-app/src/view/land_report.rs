//! Renders the result of a landing as JSON.
use ralph_core::receipt::{Proof, ReceiptCheck};
use ralph_engine::worktree::{PreparedLanding, WorktreeRemoval};
use serde_json::{Value, json};

use crate::landing::LandReport;

/// Returns the object of `land --json`.
#[must_use]
pub fn land_report_json(report: &LandReport) -> Value {
    let PreparedLanding { task_id, target, accepted, merged } = &report.landing;
    let checks: Vec<ReceiptCheck> = report.evidence.checks.iter().map(ReceiptCheck::from).collect();
    json!({
        "task": task_id,
        "landed": report.is_landed,
        "branch": target.short_branch_name(),
        "commit": if report.is_landed { Some(merged) } else { None },
        "work": accepted,
        "verified": report.is_landed && !checks.is_empty(),
        "proof": report.proof.as_deref().and_then(Proof::level_of_word),
        "accepted_by": report.accepted_by,
        "checks": checks,
        "tree": match &report.removal {
            WorktreeRemoval::Removed => "removed",
            WorktreeRemoval::Kept(_) => "kept",
            WorktreeRemoval::NotFound => "none",
        },
    })
}
