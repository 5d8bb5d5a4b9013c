//! `mutates_checkout: false`: a node that changes the files of the run fails.
use ralph_core::workflow::graph::ActivityResult;
use ralph_engine::git;
use ralph_engine::worktree::write_current_tree;

use super::{ActivityRunner, ReadyAction, ReadyActivity, failed};

/// How many changed files the reason names.
const MAX_NAMED_FILES: usize = 3;

impl ActivityRunner {
    /// Returns the tree of the files, if the activity must not change them. Without git, nothing can be compared.
    pub(super) async fn files_before(&self, ready: &ReadyActivity) -> Result<Option<String>, String> {
        let may_change = match &ready.action {
            ReadyAction::Agent(_)
            | ReadyAction::Rework { .. }
            | ReadyAction::Bash { .. }
            | ReadyAction::Script(_)
            | ReadyAction::Loop { .. }
            | ReadyAction::Checks(_)
            | ReadyAction::UntilBash { .. }
            | ReadyAction::VerifyGroup { .. }
            | ReadyAction::Child(_) => true,
            ReadyAction::Unsupported { .. } | ReadyAction::FoundItems(_) => false,
        };
        if self.services.spec.workflow.mutates_checkout || !may_change {
            return Ok(None);
        }
        let root = self.services.project.root.clone();
        in_background(move || match git::find_worktree_root(&root) {
            Ok(_) => write_current_tree(&root).map(Some).map_err(|error| error.to_string()),
            Err(_) => Ok(None),
        })
        .await
    }

    /// Fails an activity that has changed files. Nodes beside it that ran meanwhile fail too.
    pub(super) async fn refuse_changed_files(&self, before: String, result: ActivityResult) -> ActivityResult {
        if matches!(result, ActivityResult::Stopped | ActivityResult::Failed(_)) {
            return result;
        }
        let root = self.services.project.root.clone();
        let changed = in_background(move || {
            let after = write_current_tree(&root).map_err(|error| error.to_string())?;
            git::diff_trees(&root, &before, &after).map_err(|error| error.to_string())
        });
        let changed = match changed.await {
            Err(reason) => return failed(reason),
            Ok(changed) if changed.is_empty() => return result,
            Ok(changed) => changed,
        };
        let names: Vec<String> =
            changed.iter().take(MAX_NAMED_FILES).map(|entry| entry.path.display().to_string()).collect();
        let more = changed.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        failed(format!(
            "it has changed files, but the workflow says `mutates_checkout: false`: {}{more}",
            names.join(", ")
        ))
    }
}

/// Runs git without blocking the other nodes.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()));
    done.map_err(|reason| format!("`mutates_checkout: false` cannot be checked: {reason}"))
}
