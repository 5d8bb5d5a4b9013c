//! The snapshot of the work tree that a receipt names.
use std::path::Path;

use ralph_core::check_isolation::CheckIsolation;
use ralph_core::receipt::WorkTreeSnapshot;
use ralph_core::text::text_head;

use crate::git;
use ralph_util::redact;

/// How much of git's message about files that it could not add is kept.
const MAX_LEFT_OUT_BYTES: usize = 1_000;

pub(in crate::run_driver) fn describe_missing_snapshot(error: &str) -> String {
    format!("the receipt has no snapshot of the verified work tree: {error}")
}

/// Takes a snapshot of what is verified, the work tree or its commit, on a blocking thread.
pub async fn take_snapshot(root: &Path, isolation: CheckIsolation) -> Result<WorkTreeSnapshot, String> {
    let root = root.to_path_buf();
    let snapshot = tokio::task::spawn_blocking(move || take_snapshot_blocking(&root, isolation)).await;
    snapshot.map_err(|error| error.to_string()).flatten()
}

/// Like [`take_snapshot`], but blocks the calling thread.
pub(in crate::run_driver) fn take_snapshot_blocking(
    root: &Path,
    isolation: CheckIsolation,
) -> Result<WorkTreeSnapshot, String> {
    let snapshot = match isolation {
        CheckIsolation::Workspace => git::take_snapshot(root),
        CheckIsolation::Clean => git::snapshot_head(root),
    };
    let snapshot = snapshot.map_err(|error| error.to_string())?;
    Ok(WorkTreeSnapshot { left_out: snapshot.left_out.map(|reason| redact_git_message(&reason)), ..snapshot })
}

/// Redacts and truncates a message of git: it may list very many files, and their names may contain secrets.
fn redact_git_message(message: &str) -> String {
    text_head(&redact::redact_text(message), MAX_LEFT_OUT_BYTES).to_owned()
}
