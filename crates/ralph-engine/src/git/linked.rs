//! Work trees beside the first one that share its repository. None is removed that holds anything that is not committed.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::GitError;
use super::plain::Plain;

/// A work tree of a repository, as the repository knows it. Its folder may be gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Linked {
    pub path: PathBuf,
    pub head: Option<String>,
    /// The full name of its branch; none where its HEAD is detached.
    pub branch: Option<String>,
    /// Why nobody may remove it, where somebody said so.
    pub locked: Option<String>,
}

/// Git can neither list nor add work trees at the moment in which somebody adds one; so often, and so long, is it tried
/// again.
const TRIES: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(20);

fn patiently(ask: impl Fn() -> Result<Vec<u8>, GitError>) -> Result<Vec<u8>, GitError> {
    for _ in 1..TRIES {
        match ask() {
            Err(error) if error.to_string().contains("/commondir") => std::thread::park_timeout(BETWEEN),
            answer => return answer,
        }
    }
    ask()
}

/// Returns all work trees of a repository.
pub fn linked(root: &Path) -> Result<Vec<Linked>, GitError> {
    let listed = patiently(|| Plain::at(root).bytes(&["worktree", "list", "--porcelain", "-z"]))?;
    let mut all: Vec<Linked> = Vec::new();
    for line in listed.split(|byte| *byte == 0) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            all.push(Linked { path: OsString::from_vec(path.to_vec()).into(), ..Linked::default() });
        }
        let Some(last) = all.last_mut() else { continue };
        let text = String::from_utf8_lossy(line);
        match text.split_once(' ') {
            Some(("HEAD", commit)) if commit.bytes().any(|byte| byte != b'0') => {
                last.head = Some(commit.to_owned());
            }
            Some(("branch", name)) => last.branch = Some(name.to_owned()),
            Some(("locked", why)) => last.locked = Some(why.to_owned()),
            None if text == "locked" => last.locked = Some(String::new()),
            Some(_) | None => {}
        }
    }
    Ok(all)
}

/// Makes a work tree with a detached HEAD. What was registered there and is gone makes way.
pub fn add_linked(root: &Path, path: &Path, commit: &str) -> Result<(), GitError> {
    let words = ["worktree", "add", "--quiet", "--force", "--force", "--detach", "--"];
    let mut args: Vec<&OsStr> = words.map(OsStr::new).to_vec();
    args.extend([path.as_os_str(), OsStr::new(commit)]);
    patiently(|| Plain::at(root).patient().bytes(&args)).map(drop)
}

/// Says why nobody may remove a work tree, in place of what was said before.
pub fn lock_linked(root: &Path, path: &Path, why: &str) -> Result<(), GitError> {
    unlock_linked(root, path);
    let words = ["worktree", "lock", "--reason", why, "--"];
    Plain::at(root).bytes(&[&words.map(OsStr::new)[..], &[path.as_os_str()]].concat()).map(drop)
}

fn unlock_linked(root: &Path, path: &Path) {
    // It fails where it is not locked.
    let _ = Plain::at(root).bytes(&["worktree".as_ref(), "unlock".as_ref(), path.as_os_str()]);
}

/// Removes a work tree; git refuses where something in it is not committed and not ignored. `why` keeps it locked then.
pub fn remove_linked(root: &Path, path: &Path, why: &str) -> Result<(), GitError> {
    unlock_linked(root, path);
    let words = ["worktree", "remove", "--"].map(OsStr::new);
    let removed = Plain::at(root).patient().bytes(&[&words[..], &[path.as_os_str()]].concat());
    if removed.is_err() {
        lock_linked(root, path, why)?;
    }
    removed.map(drop)
}

/// Lets a repository and a work tree find each other again, after one of them was moved.
pub fn reconnect_linked(root: &Path, path: &Path) -> Result<(), GitError> {
    Plain::at(root).bytes(&["worktree".as_ref(), "repair".as_ref(), path.as_os_str()]).map(drop)
}

/// Returns the folder of the repository that a work tree belongs to, if git finds one.
pub fn repository_of(path: &Path) -> Result<PathBuf, GitError> {
    let args = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let mut found = Plain::at(path).bytes(&args)?;
    found.truncate(found.strip_suffix(b"\n").map_or(found.len(), <[u8]>::len));
    Ok(OsString::from_vec(found).into())
}

/// Returns a path in what a work tree has of its own in the repository.
pub fn own_file(path: &Path, name: &str) -> Result<PathBuf, GitError> {
    Plain::at(path).inside(name)
}

/// Checks out a commit in a work tree whose making was cut short. Files that are not of the commit stay.
pub fn finish_linked(path: &Path, commit: &str) -> Result<(), GitError> {
    let git = Plain::at(path).patient();
    // Nobody else works in it: the lock is of the one who died.
    let _ = std::fs::remove_file(git.inside("index.lock")?);
    git.bytes(&["-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "--detach", commit])
        .map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::testing::{commit_all, repository};

    // spec: P6
    #[test]
    fn a_tree_that_is_being_added_is_waited_for() {
        let (_temp, root) = repository();
        commit_all(&root);
        let half = root.join(".git/worktrees/half");
        fs::create_dir_all(&half).unwrap();
        fs::write(half.join("gitdir"), "/nowhere/.git\n").unwrap();
        fs::write(half.join("commondir"), "").unwrap();
        Plain::at(&root).bytes(&["worktree", "list"]).unwrap_err();
        let listed = std::thread::scope(|scope| {
            let listing = scope.spawn(|| linked(&root));
            fs::remove_dir_all(&half).unwrap();
            listing.join().unwrap().unwrap()
        });
        assert_eq!(listed.len(), 1);
    }
}
