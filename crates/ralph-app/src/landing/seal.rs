//! Compares the work that is landed with the store: the commit that was accepted, and the files that were sealed.
use std::path::Path;

use ralph_engine::git;
use ralph_engine::verify::TaskSeal;
use ralph_engine::worktree::PreparedLanding;
use ralph_store::TaskSealRow;

use super::LandingContext;
use crate::error::{AppError, AppResult, ErrorKind};

/// How many changed files an error lists.
const MAX_LISTED_FILES: usize = 10;

impl LandingContext<'_> {
    /// Refuses a commit that is not the accepted one, and work that changes sealed files.
    pub(super) async fn ensure_landing_matches_record(&self, task: &str, landing: &PreparedLanding) -> AppResult<()> {
        let TaskSealRow { base_commit, seal, accepted_commit } = self.store.task_seal(task).await?;
        if let Some(expected) = accepted_commit.filter(|expected| *expected != landing.accepted) {
            return Err(AppError::preflight(format!(
                "the accepted work of task {task} is commit {expected}, but the repository has {} in its place: the \
                 references of the task were changed from outside",
                landing.accepted
            )));
        }
        let seal = seal.as_deref().and_then(|text| serde_json::from_str::<TaskSeal>(text).ok());
        let (Some(base), Some(seal)) = (base_commit, seal) else { return Ok(()) };
        let (root, accepted) = (self.project.root.clone(), landing.accepted.clone());
        let changed = tokio::task::spawn_blocking(move || list_changed_sealed_files(&root, &base, &accepted, &seal));
        let changed = changed.await.map_err(|error| AppError::internal(&error))?;
        let changed = changed.map_err(|error| AppError::from_error(ErrorKind::GitFailed, &error))?;
        match changed.as_slice() {
            [] => Ok(()),
            some => {
                let listed: Vec<&str> = some.iter().take(MAX_LISTED_FILES).map(String::as_str).collect();
                let message = format!("the work of task {task} changes sealed files: {}", listed.join(", "));
                Err(AppError::preflight(message))
            }
        }
    }
}

/// Returns the sealed files that differ between two commits, and files that must not have appeared.
fn list_changed_sealed_files(
    root: &Path,
    base: &str,
    accepted: &str,
    TaskSeal { seal, .. }: &TaskSeal,
) -> Result<Vec<String>, git::GitError> {
    let changes = git::diff_trees(root, base, accepted)?;
    let names = changes.iter().map(|change| change.path.to_string_lossy().into_owned());
    let is_sealed = |name: &String| {
        seal.files.iter().any(|file| file.path == *name)
            || seal.folders.iter().any(|folder| folder.path == *name)
            || seal.absent.contains(name)
    };
    Ok(names.filter(is_sealed).collect())
}
