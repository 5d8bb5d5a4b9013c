//! Linked work trees of a repository. A work tree with uncommitted files is never removed.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::GitError;
use crate::git::isolated_git::IsolatedGit;

/// A work tree as registered in the repository. Its folder may no longer exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkedWorktree {
    pub path: PathBuf,
    pub head: Option<String>,
    /// The full name of its branch; `None` if its HEAD is detached.
    pub branch: Option<String>,
    /// The reason of the lock, if the work tree is locked.
    pub lock_reason: Option<String>,
}

/// How often git is retried: it can neither list nor add work trees while another process adds one.
const MAX_WORKTREE_ATTEMPTS: u32 = 100;
const WORKTREE_RETRY_DELAY: Duration = Duration::from_millis(20);

fn retry_while_worktree_is_added(call: impl Fn() -> Result<Vec<u8>, GitError>) -> Result<Vec<u8>, GitError> {
    for _ in 1..MAX_WORKTREE_ATTEMPTS {
        match call() {
            Err(error) if error.to_string().contains("/commondir") => std::thread::park_timeout(WORKTREE_RETRY_DELAY),
            answer => return answer,
        }
    }
    call()
}

/// Returns all work trees of a repository.
pub fn list_worktrees(root: &Path) -> Result<Vec<LinkedWorktree>, GitError> {
    let listed = retry_while_worktree_is_added(|| {
        IsolatedGit::in_folder(root).read_stdout(&["worktree", "list", "--porcelain", "-z"])
    })?;
    let mut all: Vec<LinkedWorktree> = Vec::new();
    for line in listed.split(|byte| *byte == 0) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            all.push(LinkedWorktree { path: OsString::from_vec(path.to_vec()).into(), ..LinkedWorktree::default() });
        }
        let Some(last) = all.last_mut() else { continue };
        let text = String::from_utf8_lossy(line);
        match text.split_once(' ') {
            Some(("HEAD", commit)) if commit.bytes().any(|byte| byte != b'0') => {
                last.head = Some(commit.to_owned());
            }
            Some(("branch", name)) => last.branch = Some(name.to_owned()),
            Some(("locked", reason)) => last.lock_reason = Some(reason.to_owned()),
            None if text == "locked" => last.lock_reason = Some(String::new()),
            Some(_) | None => {}
        }
    }
    Ok(all)
}

/// Creates a work tree with a detached HEAD. A registered work tree at this path whose folder is gone is replaced.
pub fn add_worktree(root: &Path, path: &Path, commit: &str) -> Result<(), GitError> {
    let words = ["worktree", "add", "--quiet", "--force", "--force", "--detach", "--"];
    let mut args: Vec<&OsStr> = words.map(OsStr::new).to_vec();
    args.extend([path.as_os_str(), OsStr::new(commit)]);
    retry_while_worktree_is_added(|| IsolatedGit::in_folder(root).with_long_timeout().read_stdout(&args)).map(drop)
}

/// Locks a work tree with a reason, or replaces the reason of its lock.
pub fn lock_worktree(root: &Path, path: &Path, reason: &str) -> Result<(), GitError> {
    unlock_worktree(root, path);
    let words = ["worktree", "lock", "--reason", reason, "--"];
    IsolatedGit::in_folder(root).read_stdout(&[&words.map(OsStr::new)[..], &[path.as_os_str()]].concat()).map(drop)
}

fn unlock_worktree(root: &Path, path: &Path) {
    // This fails if the work tree is not locked.
    let _ = IsolatedGit::in_folder(root).read_stdout(&["worktree".as_ref(), "unlock".as_ref(), path.as_os_str()]);
}

/// Removes a work tree. Git refuses if it contains files that are neither committed nor ignored; then the work tree is
/// locked again with `lock_reason`.
pub fn remove_worktree(root: &Path, path: &Path, lock_reason: &str) -> Result<(), GitError> {
    unlock_worktree(root, path);
    let words = ["worktree", "remove", "--"].map(OsStr::new);
    let removed =
        IsolatedGit::in_folder(root).with_long_timeout().read_stdout(&[&words[..], &[path.as_os_str()]].concat());
    if removed.is_err() {
        lock_worktree(root, path, lock_reason)?;
    }
    removed.map(drop)
}

/// Repairs the links between a repository and a work tree after one of them was moved.
pub fn repair_worktree(root: &Path, path: &Path) -> Result<(), GitError> {
    IsolatedGit::in_folder(root).read_stdout(&["worktree".as_ref(), "repair".as_ref(), path.as_os_str()]).map(drop)
}

/// Returns the git folder that all work trees of a repository share.
pub fn git_common_dir(path: &Path) -> Result<PathBuf, GitError> {
    let args = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let mut found = IsolatedGit::in_folder(path).read_stdout(&args)?;
    found.truncate(found.strip_suffix(b"\n").map_or(found.len(), <[u8]>::len));
    Ok(OsString::from_vec(found).into())
}

/// Returns the path of a file in the git folder of one work tree.
pub fn worktree_git_path(path: &Path, name: &str) -> Result<PathBuf, GitError> {
    IsolatedGit::in_folder(path).git_path(name)
}

/// Checks out a commit in a work tree whose creation was interrupted. Files that are not part of the commit stay.
pub fn finish_worktree_checkout(path: &Path, commit: &str) -> Result<(), GitError> {
    let git = IsolatedGit::in_folder(path).with_long_timeout();
    // No other process uses this work tree, so the lock was left by the killed one.
    let _ = std::fs::remove_file(git.git_path("index.lock")?);
    git.read_stdout(&["-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "--detach", commit])
        .map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::testing::{commit_all, new_repository};

    // spec: P6
    #[test]
    fn listing_waits_for_a_work_tree_that_is_being_added() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        let half = root.join(".git/worktrees/half");
        fs::create_dir_all(&half).unwrap();
        fs::write(half.join("gitdir"), "/nowhere/.git\n").unwrap();
        fs::write(half.join("commondir"), "").unwrap();
        IsolatedGit::in_folder(&root).read_stdout(&["worktree", "list"]).unwrap_err();
        let listed = std::thread::scope(|scope| {
            let listing = scope.spawn(|| list_worktrees(&root));
            fs::remove_dir_all(&half).unwrap();
            listing.join().unwrap().unwrap()
        });
        assert_eq!(listed.len(), 1);
    }
}
