//! Renders the receipt of a completed run.
use std::path::Path;

use ralph_core::receipt::{Proof, Receipt};
use serde_json::{Value, json};

use ralph_store::ReceiptRow;
use ralph_store::receipt_file::{RECEIPT_FILE_NAME, ReceiptCopy, compare_receipt_copy};

/// Characters of a hash in text output.
const SHORT_HASH_CHARS: usize = 12;

/// Returns the line of `ralph show`. It names the copy in the logs if that differs from the stored receipt.
pub(super) fn receipt_line(stored: &ReceiptRow, logs: &Path) -> String {
    let level = if stored.verified { "verified" } else { "unverified: only the agent's claim" };
    let Ok(receipt) = serde_json::from_str::<Receipt>(&stored.body) else {
        return format!("{level}; the receipt cannot be read");
    };
    let copy = match compare_receipt_copy(logs, &receipt) {
        ReceiptCopy::Differs => {
            format!("; {} is FORGED: it differs from the stored receipt", logs.join(RECEIPT_FILE_NAME).display())
        }
        ReceiptCopy::Matches | ReceiptCopy::Missing => String::new(),
    };
    let verify_hint = if stored.verified { "; its checks can be repeated" } else { "" };
    let accepted = receipt.findings.accepted_by.as_ref();
    let accepted = accepted.map(|by| format!(", accepted by {}", by.user)).unwrap_or_default();
    format!("{level}{accepted}, {}{verify_hint}{copy}", describe_files(&receipt))
}

/// Returns the proof level of a stored receipt; `None` if it cannot be read.
pub(super) fn proof_of(stored: &ReceiptRow) -> Option<Proof> {
    serde_json::from_str::<Receipt>(&stored.body).ok().map(|receipt| receipt.findings.proof())
}

fn describe_files(receipt: &Receipt) -> String {
    let short = |hash: &str| hash.get(..SHORT_HASH_CHARS).unwrap_or(hash).to_owned();
    match &receipt.input.repository {
        None => "files unknown".to_owned(),
        Some(state) => match (&state.commit, state.is_committed, &state.left_out) {
            (Some(commit), true, _) => format!("commit {}", short(commit)),
            (_, _, None) => format!("not committed, tree {}", short(&state.tree)),
            (_, _, Some(reason)) => {
                format!(
                    "not committed, tree {} without files that git cannot add ({})",
                    short(&state.tree),
                    reason.split_whitespace().collect::<Vec<_>>().join(" ")
                )
            }
        },
    }
}

/// Returns a line about a receipt file of a run that has no stored receipt.
pub(super) fn forged_receipt_line(logs: &Path) -> Option<String> {
    let file = logs.join(RECEIPT_FILE_NAME);
    let exists = file.symlink_metadata().is_ok();
    exists.then(|| format!("none; {} is FORGED: ralph never wrote it", file.display()))
}

/// The same as JSON.
pub(super) fn forged_receipt_json(logs: &Path) -> Value {
    let file = logs.join(RECEIPT_FILE_NAME).display().to_string();
    let forged = json!({ "verified": false, "sha256": null, "accepted_by": null, "repository": null, "file": file, "file_is_forged": true });
    forged_receipt_line(logs).map_or(Value::Null, |_| forged)
}

pub(super) fn receipt_json(stored: &ReceiptRow, logs: &Path) -> Value {
    let receipt: Option<Receipt> = serde_json::from_str(&stored.body).ok();
    let is_forged = receipt.as_ref().is_some_and(|receipt| compare_receipt_copy(logs, receipt) == ReceiptCopy::Differs);
    json!({
        "verified": stored.verified,
        "sha256": stored.sha256,
        "accepted_by": receipt.as_ref().and_then(|receipt| receipt.findings.accepted_by.clone()),
        "repository": receipt.map(|receipt| receipt.input.repository),
        "file": logs.join(RECEIPT_FILE_NAME).display().to_string(),
        "file_is_forged": is_forged,
    })
}
