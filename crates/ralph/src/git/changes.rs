//! Which files differ between two commits, and in a work tree; and putting files in their places.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::GitError;
use super::plain::Plain;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Removed,
    /// Its content, its kind, or whether it can be run.
    Changed,
}

/// A file that is not the same in two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub kind: ChangeKind,
    pub path: PathBuf,
}

/// Returns what leads from one commit to another.
pub fn changes(root: &Path, from: &str, to: &str) -> Result<Vec<Change>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to];
    let listed = Plain::at(root).bytes(&args)?;
    let mut parts = listed.split(|byte| *byte == 0);
    let mut all = Vec::new();
    while let (Some(kind), Some(path)) = (parts.next().filter(|kind| !kind.is_empty()), parts.next()) {
        let kind = match kind {
            b"A" => ChangeKind::Added,
            b"D" => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        };
        all.push(Change { kind, path: OsString::from_vec(path.to_vec()).into() });
    }
    Ok(all)
}

/// Returns the tracked files of a work tree that are not as they were committed.
pub fn uncommitted(root: &Path) -> Result<Vec<PathBuf>, GitError> {
    let args = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no"];
    let listed = Plain::at(root).bytes(&args)?;
    let paths = listed.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
    Ok(paths.map(|path| OsString::from_vec(path.to_vec()).into()).collect())
}

/// Tells whether the index of a work tree holds exactly what a commit holds.
pub fn index_is(root: &Path, commit: &str) -> Result<bool, GitError> {
    let answer = Plain::at(root).answer(&["diff-index", "--cached", "--quiet", commit, "--"], &[])?;
    match answer.code {
        Some(1) => Ok(false),
        _ => answer.success().map(|_| true),
    }
}

/// Changes files and index of a work tree from one commit to another. Git refuses, before it touches anything, where a file is
/// not as in the first. Files that are ignored are in nobody's way: whoever calls has looked for them.
pub fn change_files(root: &Path, from: &str, to: &str) -> Result<(), GitError> {
    let git = Plain::at(root).patient();
    refresh(&git)?;
    git.bytes(&["read-tree", "-m", "-u", from, to]).map(drop)
}

/// Lets the index of a work tree hold what a commit holds. No file is touched.
pub fn change_index(root: &Path, to: &str) -> Result<(), GitError> {
    let git = Plain::at(root).patient();
    git.bytes(&["read-tree", to])?;
    refresh(&git)
}

/// Lets the index see which files are as it has them, although they were written since.
fn refresh(git: &Plain<'_>) -> Result<(), GitError> {
    let refreshed = git.answer(&["update-index", "-q", "--refresh"], &[])?;
    // 1: some are not, which is no trouble.
    if refreshed.code == Some(1) { Ok(()) } else { refreshed.success().map(drop) }
}

/// Puts files of a work tree back as a commit has them. The index stays as it is.
pub fn restore_files(root: &Path, commit: &str, paths: &[PathBuf]) -> Result<(), GitError> {
    if paths.is_empty() {
        return Ok(());
    }
    let listed: Vec<u8> =
        paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    let source = format!("--source={commit}");
    let args = ["restore", "--worktree", &source, "--pathspec-from-file=-", "--pathspec-file-nul"];
    let git = Plain::at(root).patient().with("GIT_LITERAL_PATHSPECS", "1");
    git.fed(&args, &listed).map(drop)
}

/// Returns the difference between two commits, for people.
pub fn difference(root: &Path, from: &str, to: &str, options: &[&str]) -> Result<Vec<u8>, GitError> {
    let args = [&["diff", "--no-ext-diff", "--no-textconv"], options, &[from, to, "--"]].concat();
    Plain::at(root).patient().bytes(&args)
}
