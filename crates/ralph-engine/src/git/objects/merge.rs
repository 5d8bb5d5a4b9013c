//! Merges commits without a work tree: only objects are written, so there is nothing to roll back.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::git::GitError;
use crate::git::isolated_git::IsolatedGit;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeResult {
    /// The tree of the result.
    Clean {
        tree: String,
    },
    Conflict {
        files: Vec<PathBuf>,
    },
}

pub fn merge_commits(root: &Path, ours: &str, theirs: &str) -> Result<MergeResult, GitError> {
    let args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs];
    let answer = IsolatedGit::in_folder(root).with_long_timeout().run_with_input(&args, &[])?;
    let is_conflict = answer.code == Some(1);
    let printed = if is_conflict { answer.stdout } else { answer.into_stdout()? };
    let mut parts = printed.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    let tree = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    if !is_conflict {
        return Ok(MergeResult::Clean { tree });
    }
    let mut files: Vec<PathBuf> = parts.map(path_from_bytes).collect();
    files.dedup();
    Ok(MergeResult::Conflict { files })
}

fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

/// Returns whether `older` is the same commit as `younger` or an ancestor of it.
pub fn is_ancestor(root: &Path, older: &str, younger: &str) -> Result<bool, GitError> {
    let answer = IsolatedGit::in_folder(root).run_with_input(&["merge-base", "--is-ancestor", older, younger], &[])?;
    match answer.code {
        Some(1) => Ok(false),
        _ => answer.into_stdout().map(|_| true),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    // spec: P6
    #[test]
    fn a_conflict_names_its_files_and_changes_nothing() {
        let (_temp, root) = new_repository();
        let base = commit_all(&root);
        fs::write(root.join("file"), "one").unwrap();
        let one = commit_all(&root);
        run_git(&root, &["checkout", "--quiet", "--detach", &base]).unwrap();
        fs::write(root.join("file"), "two").unwrap();
        let two = commit_all(&root);
        assert_eq!(merge_commits(&root, &one, &two).unwrap(), MergeResult::Conflict { files: vec!["file".into()] });
        assert_eq!(run_git(&root, &["status", "--porcelain"]).unwrap(), "");
        fs::write(root.join("file"), "first").unwrap();
        fs::write(root.join("a b\nc"), "").unwrap();
        let three = commit_all(&root);
        run_git(&root, &["checkout", "--quiet", "--detach", &base]).unwrap();
        fs::write(root.join("new"), "").unwrap();
        let four = commit_all(&root);
        assert!(matches!(merge_commits(&root, &three, &four).unwrap(), MergeResult::Clean { .. }));
        assert!(is_ancestor(&root, &base, &four).unwrap() && !is_ancestor(&root, &four, &base).unwrap());
    }
}
