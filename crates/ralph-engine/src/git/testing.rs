//! Small repositories for tests.
use std::path::{Path, PathBuf};

use super::run_git;

/// Creates a repository with one uncommitted file.
pub(crate) fn new_repository() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&root).unwrap();
    run_git(&root, &["init", "--quiet"]).unwrap();
    std::fs::write(root.join("file"), "first").unwrap();
    (temp, root)
}

/// Commits all files and returns the commit.
pub(crate) fn commit_all(root: &Path) -> String {
    run_git(root, &["add", "--all"]).unwrap();
    let author = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
    run_git(root, &[&author[..], &["commit", "--quiet", "-m", "a commit"]].concat()).unwrap();
    run_git(root, &["rev-parse", "HEAD"]).unwrap().trim().to_owned()
}
