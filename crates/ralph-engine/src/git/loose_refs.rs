//! Creates references as files, as git itself does, without starting git.
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::exact_files::{MAX_SETTINGS_BYTES, read_regular_file};
use super::head_file::{find_common_dir, find_git_dir};
use super::{ExpectedRef, GitError, RefUpdate, update_refs};

/// Settings of a repository with which git does more than write a file.
const OTHER_BACKEND_SETTINGS: [&str; 4] = ["refstorage", "sharedrepository", "logallrefupdates=always", "[include"];

/// Creates references with names that no other process uses, in their order. The objects must exist.
pub fn create_refs(root: &Path, refs: &[(String, String)], reason: &str) -> Result<(), GitError> {
    let write_all = |folder: &Path| refs.iter().try_for_each(|(name, object)| write_ref(folder, name, object));
    if find_ref_folder(root).is_some_and(|folder| write_all(&folder).is_ok()) {
        return Ok(());
    }
    let set = |(name, object): &(String, String)| RefUpdate::Set {
        name: name.clone(),
        to: object.clone(),
        expected: ExpectedRef::Any,
    };
    update_refs(root, &refs.iter().map(set).collect::<Vec<_>>(), reason)
}

/// Returns the folder that contains `refs`, if git stores each reference as a file in it.
fn find_ref_folder(root: &Path) -> Option<PathBuf> {
    let common = find_common_dir(&find_git_dir(root)?);
    let config = read_regular_file(&common.join("config"), MAX_SETTINGS_BYTES).ok()?;
    let config = String::from_utf8_lossy(&config).to_ascii_lowercase().replace([' ', '\t'], "");
    let has_files = !OTHER_BACKEND_SETTINGS.iter().any(|setting| config.contains(setting));
    (has_files && common.join("refs").symlink_metadata().ok()?.is_dir()).then_some(common)
}

/// Writes a reference that does not exist. Git locks a reference with the same file.
fn write_ref(folder: &Path, name: &str, object: &str) -> io::Result<()> {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let lock = folder.join(format!("{name}.lock"));
    let mut file = fs::File::create_new(&lock)?;
    let written = writeln!(file, "{object}").and_then(|()| fs::rename(&lock, &path));
    written.inspect_err(|_| drop(fs::remove_file(&lock)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    fn create_pair(root: &Path, object: &str) {
        let refs = ["refs/ralph/T/a", "refs/ralph/T/b"].map(|name| (name.to_owned(), object.to_owned()));
        create_refs(root, &refs, "test").unwrap();
    }

    /// Returns what git knows about the references of the test.
    fn listed_refs(root: &Path) -> String {
        run_git(root, &["for-each-ref", "--format=%(refname) %(objectname)", "refs/ralph"]).unwrap()
    }

    // finding: N42
    #[test]
    fn git_reads_and_packs_a_created_reference_also_in_a_linked_work_tree() {
        let (temp, root) = new_repository();
        let commit = commit_all(&root);
        let linked = temp.path().join("linked");
        run_git(&root, &["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]).unwrap();
        create_pair(&linked, &commit);
        let expected = format!("refs/ralph/T/a {commit}\nrefs/ralph/T/b {commit}\n");
        assert_eq!(listed_refs(&root), expected);
        run_git(&root, &["pack-refs", "--all"]).unwrap();
        assert_eq!(listed_refs(&root), expected);
        assert_eq!(run_git(&root, &["fsck", "--strict"]).unwrap(), "");
    }

    // finding: N42
    #[test]
    fn git_itself_writes_the_references_of_another_backend_and_one_that_is_locked_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        run_git(root, &["init", "--quiet", "--ref-format=reftable"]).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let commit = commit_all(root);
        create_pair(root, &commit);
        assert_eq!(listed_refs(root).lines().count(), 2);
        assert!(!root.join(".git/refs/ralph").exists());

        let (_temp, root) = new_repository();
        let commit = commit_all(&root);
        fs::create_dir_all(root.join(".git/refs/ralph/T")).unwrap();
        fs::write(root.join(".git/refs/ralph/T/a.lock"), "").unwrap();
        let refs = [("refs/ralph/T/a".to_owned(), commit)];
        assert!(create_refs(&root, &refs, "test").is_err());
    }
}
