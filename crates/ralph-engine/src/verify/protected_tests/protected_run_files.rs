//! Lists the changed files that the checks of a claim run through another file, as ralph-core finds them. Reads the files
//! from before the work, and never those of the work tree.
use std::path::Path;

use ralph_core::criterion::{Criterion, external_checks};
use ralph_core::protected::{ProtectedBase, RunFile, UnprotectedChanges, find_run_files};

use crate::git;
use crate::verify::verification_control::VerificationControl;

/// Returns those of the changed files that the checks run through another file.
pub(in crate::verify) async fn list_run_files(
    root: &Path,
    base: &ProtectedBase,
    changes: &UnprotectedChanges,
    criteria: &[Criterion],
    control: &mut VerificationControl,
) -> Vec<RunFile> {
    if *changes == UnprotectedChanges::default() {
        return Vec::new();
    }
    let (root, tree, changes, criteria) = (root.to_path_buf(), base.tree.clone(), changes.clone(), criteria.to_vec());
    let listed = control.run_blocking(move || {
        let found = external_checks(&criteria);
        let checks: Vec<_> = found.iter().map(|found| found.check).collect();
        // Most paths that a command may refer to do not exist.
        let entries = git::list_tree_entries(&root, &tree).unwrap_or_default();
        let mut read = |path: &str| {
            entries.get(Path::new(path))?;
            let content = git::read_tree_file(&root, &tree, Path::new(path)).ok()??;
            String::from_utf8(content).ok()
        };
        find_run_files(&checks, &changes, &mut read)
    });
    listed.await.unwrap_or_default()
}
