//! The receipt of a completed run in one line, and for programs.
use std::path::Path;

use ralph_core::receipt::Receipt;
use serde_json::{Value, json};

use super::words::short_id;
use ralph_store::ReceiptRow;
use ralph_store::receipt::{Copy, FILE, compare};

/// How much of a hash people need to see.
const SHORT: usize = 12;

/// Says what stands behind the completion. A copy that was changed is named.
pub(super) fn line(stored: &ReceiptRow, logs: &Path) -> String {
    let word = if stored.verified { "verified" } else { "unverified: only the agent's word" };
    let Ok(receipt) = serde_json::from_str::<Receipt>(&stored.body) else {
        return format!("{word}; it cannot be read");
    };
    let copy = match compare(logs, &receipt) {
        Copy::Other => format!("; {} is FORGED: another receipt is stored", logs.join(FILE).display()),
        Copy::Same | Copy::Missing => String::new(),
    };
    let again = if stored.verified {
        format!("; ralph verify {}", short_id(&receipt.given.run))
    } else {
        String::new()
    };
    format!("{word}, {}{again}{copy}", ground(&receipt))
}

fn ground(receipt: &Receipt) -> String {
    let short = |hash: &str| hash.get(..SHORT).unwrap_or(hash).to_owned();
    match &receipt.given.repository {
        None => "which files is not known".to_owned(),
        Some(seen) => match (&seen.commit, seen.is_committed, &seen.left_out) {
            (Some(commit), true, _) => format!("commit {}", short(commit)),
            (_, _, None) => format!("not committed, tree {}", short(&seen.tree)),
            (_, _, Some(why)) => {
                format!(
                    "not committed, tree {} without what git cannot take in ({})",
                    short(&seen.tree),
                    why.split_whitespace().collect::<Vec<_>>().join(" ")
                )
            }
        },
    }
}

/// Names a file that says it is the receipt of a run that has none.
pub(super) fn forged(logs: &Path) -> Option<String> {
    let file = logs.join(FILE);
    let is_there = file.symlink_metadata().is_ok();
    is_there.then(|| format!("none; {} is FORGED: ralph never wrote it", file.display()))
}

/// The same for programs.
pub(super) fn forged_json(logs: &Path) -> Value {
    let file = logs.join(FILE).display().to_string();
    let nothing = json!({ "verified": false, "sha256": null, "repository": null, "file": file, "file_is_forged": true });
    forged(logs).map_or(Value::Null, |_| nothing)
}

pub(super) fn json(stored: &ReceiptRow, logs: &Path) -> Value {
    let receipt: Option<Receipt> = serde_json::from_str(&stored.body).ok();
    let is_forged = receipt.as_ref().is_some_and(|receipt| compare(logs, receipt) == Copy::Other);
    json!({
        "verified": stored.verified,
        "sha256": stored.sha256,
        "repository": receipt.map(|receipt| receipt.given.repository),
        "file": logs.join(FILE).display().to_string(),
        "file_is_forged": is_forged,
    })
}
