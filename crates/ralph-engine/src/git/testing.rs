//! Small repositories for tests.
use std::path::{Path, PathBuf};

use super::git;

/// Makes a repository with one file that is not committed.
pub(crate) fn repository() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&root).unwrap();
    git(&root, &["init", "--quiet"]).unwrap();
    std::fs::write(root.join("file"), "first").unwrap();
    (temp, root)
}

/// Commits everything and returns the commit.
pub(crate) fn commit_all(root: &Path) -> String {
    git(root, &["add", "--all"]).unwrap();
    let author = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
    git(root, &[&author[..], &["commit", "--quiet", "-m", "a commit"]].concat()).unwrap();
    git(root, &["rev-parse", "HEAD"]).unwrap().trim().to_owned()
}
