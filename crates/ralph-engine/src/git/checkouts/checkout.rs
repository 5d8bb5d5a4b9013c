//! Checks out a commit into a temporary folder: a repository that shares only the objects of the user's repository. It
//! never touches the user's work tree, index, references or configuration.
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::GitError;
use crate::git::checkouts::checkout_surroundings::find_deciding_file;
use crate::git::isolated_git::IsolatedGit;
use crate::git::temporary_folder::TemporaryFolder;

#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("commit {commit} no longer exists in the repository")]
    CommitMissing { commit: String, source: GitError },
    #[error("cannot check out commit {commit}")]
    Git { commit: String, source: GitError },
    #[error(
        "{} could decide what the checks do in a checkout below that folder: remove it, or set TMPDIR to another folder",
        path.display()
    )]
    Surroundings { path: PathBuf },
}

/// The files of a commit. They are removed when this value is dropped.
#[derive(Debug)]
pub struct TemporaryCheckout {
    folder: TemporaryFolder,
}

impl TemporaryCheckout {
    /// Checks out a commit of the repository at `root` into a new temporary folder outside the project: programs that
    /// search parent folders for files must not find those of the user's work tree.
    pub fn create(root: &Path, commit: &str) -> Result<Self, CheckoutError> {
        let git = IsolatedGit::in_folder(root);
        let failed = |source| CheckoutError::Git { commit: commit.to_owned(), source };
        git.read_stdout(&["cat-file", "-e", &format!("{commit}^{{commit}}")])
            .map_err(|source| CheckoutError::CommitMissing { commit: commit.to_owned(), source })?;
        let folder = TemporaryFolder::create("checkout").map_err(failed)?;
        if let Some(path) = find_deciding_file(&folder.path) {
            return Err(CheckoutError::Surroundings { path });
        }
        let checkout = Self { folder };
        checkout.populate_files(&git, root, commit).map_err(failed)?;
        Ok(checkout)
    }

    /// Returns the root of the checked out files.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// Replaces the checked out files by those of a tree, such as uncommitted files that a snapshot recorded.
    pub fn replace_files(&self, tree: &str) -> Result<(), GitError> {
        let git = IsolatedGit::in_folder(self.path()).with_long_timeout();
        git.read_stdout(&["read-tree", "--reset", "-u", tree]).map(drop)
    }

    fn populate_files(&self, from: &IsolatedGit<'_>, root: &Path, commit: &str) -> Result<(), GitError> {
        let git = IsolatedGit::in_folder(self.path()).with_long_timeout();
        git.read_stdout(&["init", "--quiet", "--template="])?;
        self.link_objects(&from.git_path("objects")?, &from.git_path("shallow")?)
            .map_err(|source| self.folder.to_git_error(source))?;
        git.read_stdout(&["-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit])?;
        // Checks may use branches and tags by name.
        let mut fetch = ["fetch", "--quiet", "--no-auto-gc", "--no-write-fetch-head"].map(OsString::from).to_vec();
        fetch.push(root.into());
        fetch.extend(["heads", "remotes", "tags"].map(|kind| format!("+refs/{kind}/*:refs/{kind}/*").into()));
        git.read_stdout(&fetch).map(drop)
    }

    fn link_objects(&self, objects: &Path, shallow: &Path) -> io::Result<()> {
        let git_dir = self.path().join(".git");
        std::fs::create_dir_all(git_dir.join("objects/info"))?;
        let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
        std::fs::write(git_dir.join("objects/info/alternates"), line)?;
        if shallow.is_file() {
            std::fs::copy(shallow, git_dir.join("shallow"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    // spec: V10, V14
    #[test]
    fn a_checkout_contains_only_committed_files() {
        let (_temp, root) = new_repository();
        let commit = commit_all(&root);
        fs::write(root.join("file"), "changed").unwrap();
        fs::write(root.join("leftover"), "").unwrap();
        let checkout = TemporaryCheckout::create(&root, &commit).unwrap();
        assert_eq!(fs::read_to_string(checkout.path().join("file")).unwrap(), "first");
        assert!(!checkout.path().join("leftover").exists());
        assert!(!checkout.path().starts_with(&root), "it is not inside the work tree");
        let head = run_git(checkout.path(), &["rev-parse", "HEAD"]).unwrap();
        assert_eq!(head.trim(), commit);
        let branch = run_git(&root, &["branch", "--show-current"]).unwrap();
        assert_eq!(run_git(checkout.path(), &["rev-parse", branch.trim()]).unwrap().trim(), commit);
    }

    // spec: V10, V14
    #[test]
    fn a_checkout_changes_nothing_in_the_repository_and_is_removed() {
        let (_temp, root) = new_repository();
        let commit = commit_all(&root);
        let files = || -> Vec<_> {
            let listed = std::process::Command::new("find").arg(root.join(".git")).output().unwrap();
            String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
        };
        let before = files();
        let checkout = TemporaryCheckout::create(&root, &commit).unwrap();
        let path = checkout.path().to_path_buf();
        fs::write(path.join("file"), "a check may do this").unwrap();
        run_git(&path, &["add", "--all"]).unwrap();
        drop(checkout);
        assert!(!path.exists());
        assert_eq!(files(), before);
        assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "first");
    }

    // spec: V10, V14
    #[test]
    fn hooks_filters_and_replaced_objects_do_not_change_the_checked_out_files() {
        let (_temp, root) = new_repository();
        let commit = commit_all(&root);
        fs::write(root.join("file"), "second").unwrap();
        let second = commit_all(&root);
        run_git(&root, &["replace", &commit, &second]).unwrap();
        run_git(&root, &["config", "filter.weaker.smudge", "echo smudged"]).unwrap();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::write(root.join(".git/info/attributes"), "file filter=weaker\n").unwrap();
        let hook = root.join(".git/hooks/post-checkout");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\necho hooked > file\n").unwrap();
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let checkout = TemporaryCheckout::create(&root, &commit).unwrap();
        assert_eq!(fs::read_to_string(checkout.path().join("file")).unwrap(), "first");
    }

    // spec: V16
    #[test]
    fn a_checkout_can_have_the_files_of_a_snapshot_instead() {
        let (_temp, root) = new_repository();
        let commit = commit_all(&root);
        fs::write(root.join("new"), "uncommitted").unwrap();
        fs::remove_file(root.join("file")).unwrap();
        let tree = crate::git::write_worktree_tree(&root).unwrap();
        let checkout = TemporaryCheckout::create(&root, &commit).unwrap();
        checkout.replace_files(&tree).unwrap();
        assert_eq!(fs::read_to_string(checkout.path().join("new")).unwrap(), "uncommitted");
        assert!(!checkout.path().join("file").exists());
        assert!(checkout.replace_files(&"1".repeat(40)).is_err(), "the objects of the snapshot may be gone");
    }

    // spec: V14
    #[test]
    fn a_missing_commit_is_distinguished_from_other_failures() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        let refused = TemporaryCheckout::create(&root, &"1".repeat(40)).unwrap_err();
        assert!(matches!(refused, CheckoutError::CommitMissing { .. }), "{refused}");
    }

    // spec: V10
    #[test]
    fn a_linked_work_tree_and_a_shallow_clone_can_be_checked_out() {
        let (temp, root) = new_repository();
        commit_all(&root);
        fs::write(root.join("file"), "second").unwrap();
        let commit = commit_all(&root);
        let linked = temp.path().join("linked");
        run_git(&root, &["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]).unwrap();
        let shallow = temp.path().join("shallow");
        let from = format!("file://{}", root.display());
        run_git(&root, &["clone", "--quiet", "--depth=1", &from, shallow.to_str().unwrap()]).unwrap();
        for repository in [linked, shallow] {
            let checkout = TemporaryCheckout::create(&repository, &commit).unwrap();
            assert_eq!(fs::read_to_string(checkout.path().join("file")).unwrap(), "second");
        }
    }
}
