//! A copy of the claimed files with some of them replaced, in which the checks run a second time.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::git::{self, CommitAuthor, NewCommit, TemporaryCheckout, TreeEntry};

/// Ignored folders of dependencies and builds. They are linked: copies would take long.
const LINKED_FOLDERS: &[&str] = &[
    "node_modules",
    ".venv",
    "venv",
    "vendor",
    "target",
    ".tox",
    ".nox",
    ".bundle",
    ".gradle",
    ".yarn",
    ".pnpm-store",
    "Pods",
];

/// Ignored files that are not needed, or could contain results of the changed tests.
const LEFT_OUT_NAMES: &[&str] = &["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".ralph", ".git"];

/// The contents of the copy.
pub(in crate::verify) struct ProtectedCopy {
    pub(in crate::verify) root: PathBuf,
    pub(in crate::verify) claimed_tree: String,
    pub(in crate::verify) edits: BTreeMap<PathBuf, Option<TreeEntry>>,
    /// Ignored files that the work changed.
    pub(in crate::verify) left_out: BTreeSet<PathBuf>,
}

impl ProtectedCopy {
    /// Creates a commit of the claimed files with the edits, and returns its id.
    pub(in crate::verify) fn commit(&self) -> Result<String, String> {
        let failed = |error: git::GitError| error.to_string();
        let tree = git::edit_tree(&self.root, &self.claimed_tree, &self.edits).map_err(failed)?;
        let head = git::head_commit(&self.root).map_err(failed)?;
        let parents: Vec<&str> = head.as_deref().into_iter().collect();
        let new = NewCommit { tree: &tree, parents: &parents, message: "ralph: protected tests" };
        git::commit_tree(&self.root, &new, CommitAuthor::Ralph).map_err(failed)
    }

    /// Checks out that commit and adds the ignored files of the work tree.
    pub(in crate::verify) fn check_out(&self, commit: &str) -> Result<TemporaryCheckout, String> {
        let checkout = TemporaryCheckout::create(&self.root, commit).map_err(|error| error.to_string())?;
        for path in git::list_ignored_paths(&self.root).map_err(|error| error.to_string())? {
            let cannot_copy = |error: io::Error| format!("cannot copy {}: {error}", path.display());
            self.bring_ignored_path(&path, checkout.path()).map_err(cannot_copy)?;
        }
        Ok(checkout)
    }

    /// Links or copies an ignored file or folder into the copy.
    fn bring_ignored_path(&self, path: &Path, copy: &Path) -> io::Result<()> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (from, to) = (self.root.join(path), copy.join(path));
        if LEFT_OUT_NAMES.contains(&name) || self.left_out.contains(path) || to.symlink_metadata().is_ok() {
            return Ok(());
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        if LINKED_FOLDERS.contains(&name) && from.is_dir() {
            // A path with a final slash cannot be the name of a link.
            let to: PathBuf = to.components().collect();
            return std::os::unix::fs::symlink(from, to);
        }
        self.copy_path(&from, &to)
    }

    fn copy_path(&self, from: &Path, to: &Path) -> io::Result<()> {
        let found = from.symlink_metadata()?;
        if found.is_symlink() {
            return std::os::unix::fs::symlink(fs::read_link(from)?, to);
        }
        if found.is_file() {
            fs::copy(from, to)?;
            // Build tools compare the times of files.
            return fs::File::options()
                .write(true)
                .open(to)
                .and_then(|file| file.set_modified(found.modified()?))
                .or(Ok(()));
        }
        if !found.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let is_left_out = from
                .strip_prefix(&self.root)
                .is_ok_and(|folder| self.left_out.contains(&folder.join(entry.file_name())));
            if !is_left_out {
                self.copy_path(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
        Ok(())
    }
}
