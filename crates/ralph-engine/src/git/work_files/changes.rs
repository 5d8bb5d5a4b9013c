//! Lists files that differ between commits or in a work tree, and writes files of a commit into a work tree.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::git::GitError;
use crate::git::isolated_git::IsolatedGit;
use crate::git::temporary_folder::TemporaryFolder;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeDiffKind {
    Added,
    Removed,
    /// Its content, its kind or its executable bit changed.
    Modified,
}

/// A file that differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDiffEntry {
    pub kind: TreeDiffKind,
    pub path: PathBuf,
}

/// Returns the files that differ between two commits or trees.
pub fn diff_trees(root: &Path, from: &str, to: &str) -> Result<Vec<TreeDiffEntry>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to];
    let listed = IsolatedGit::in_folder(root).read_stdout(&args)?;
    let mut parts = listed.split(|byte| *byte == 0);
    let mut all = Vec::new();
    while let (Some(kind), Some(path)) = (parts.next().filter(|kind| !kind.is_empty()), parts.next()) {
        let kind = match kind {
            b"A" => TreeDiffKind::Added,
            b"D" => TreeDiffKind::Removed,
            _ => TreeDiffKind::Modified,
        };
        all.push(TreeDiffEntry { kind, path: OsString::from_vec(path.to_vec()).into() });
    }
    Ok(all)
}

/// Returns the tracked files of a work tree that have uncommitted changes.
pub fn uncommitted_files(root: &Path) -> Result<Vec<PathBuf>, GitError> {
    let args = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no"];
    let listed = IsolatedGit::in_folder(root).read_stdout(&args)?;
    let paths = listed.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
    Ok(paths.map(|path| OsString::from_vec(path.to_vec()).into()).collect())
}

/// Returns the total size of the files of a work tree that are changed or untracked.
pub fn uncommitted_bytes(root: &Path) -> Result<u64, GitError> {
    let args = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"];
    let listed = IsolatedGit::in_folder(root).read_stdout(&args)?;
    let paths = listed.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
    let size = |path: &[u8]| root.join(OsStr::from_bytes(path)).symlink_metadata().map_or(0, |found| found.len());
    Ok(paths.map(size).sum())
}

/// Returns the files that differ between a commit and the index of a work tree.
pub fn index_differences(root: &Path, commit: &str) -> Result<Vec<PathBuf>, GitError> {
    let args = ["diff-index", "--cached", "--name-only", "--no-renames", "-z", commit, "--"];
    let listed = IsolatedGit::in_folder(root).read_stdout(&args)?;
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| OsString::from_vec(path.to_vec()).into()).collect())
}

/// Moves the files and the index of a work tree from one commit to another. Git refuses, before it changes anything, if
/// a file differs from the first commit. Git overwrites ignored files: the caller must have checked for them.
pub fn update_files_and_index(root: &Path, from: &str, to: &str) -> Result<(), GitError> {
    let git = IsolatedGit::in_folder(root).with_long_timeout();
    refresh_index(&git)?;
    git.read_stdout(&["read-tree", "-m", "-u", from, to]).map(drop)
}

/// Resets the index of a work tree to a commit. No file is changed.
pub fn reset_index(root: &Path, to: &str) -> Result<(), GitError> {
    let git = IsolatedGit::in_folder(root).with_long_timeout();
    git.read_stdout(&["read-tree", to])?;
    refresh_index(&git)
}

/// Updates the file times in the index, so that files which were rewritten with the same content count as unchanged.
fn refresh_index(git: &IsolatedGit<'_>) -> Result<(), GitError> {
    let refreshed = git.run_with_input(&["update-index", "-q", "--refresh"], &[])?;
    // Exit code 1 means that some files differ, which is not an error here.
    if refreshed.code == Some(1) { Ok(()) } else { refreshed.into_stdout().map(drop) }
}

/// Restores files of a work tree from a commit or tree. It uses a temporary index, so the index of the work tree does
/// not change and may be locked.
pub fn restore_files(root: &Path, from: &str, paths: &[PathBuf]) -> Result<(), GitError> {
    if paths.is_empty() {
        return Ok(());
    }
    let folder = TemporaryFolder::create("restore")?;
    let git = IsolatedGit::in_folder(root).with_long_timeout().with_env("GIT_INDEX_FILE", folder.path.join("index"));
    git.read_stdout(&["read-tree", from])?;
    let listed: Vec<u8> = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    git.read_stdout_with_input(&["checkout-index", "--force", "--quiet", "-z", "--stdin"], &listed).map(drop)
}

/// Returns the diff between two commits as text.
pub fn render_diff(root: &Path, from: &str, to: &str, options: &[&str]) -> Result<Vec<u8>, GitError> {
    let args = [&["diff", "--no-ext-diff", "--no-textconv"], options, &[from, to, "--"]].concat();
    IsolatedGit::in_folder(root).with_long_timeout().read_stdout(&args)
}
