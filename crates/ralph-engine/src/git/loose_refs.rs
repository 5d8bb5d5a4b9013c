//! Creates and lists references as files, as git itself does, without starting git.
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::config_text::ConfigText;
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

/// Returns the object of a reference that is stored in a separate file. `None`: only git knows it.
#[must_use]
pub fn read_loose_ref(root: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(find_ref_folder(root)?.join(name)).ok()?;
    let object = text.trim_end();
    let is_object = matches!(object.len(), 40 | 64) && object.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_object.then(|| object.to_owned())
}

/// Returns the folders of references below a folder, such as `refs/heads/`. `None`: only git knows them.
#[must_use]
pub fn list_ref_folders(root: &Path, parent: &str) -> Option<BTreeSet<String>> {
    let common = find_ref_folder(root)?;
    let mut names = BTreeSet::new();
    match fs::read_dir(common.join(parent)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        entries => {
            for entry in entries.ok()? {
                names.insert(entry.ok()?.file_name().into_string().ok()?);
            }
        }
    }
    let packed = match fs::read_to_string(common.join("packed-refs")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        packed => packed.ok()?,
    };
    let packed = packed.lines().filter_map(|line| line.split_once(' ')?.1.strip_prefix(parent)?.split('/').next());
    names.extend(packed.map(str::to_owned));
    Some(names)
}

/// Returns the folder that contains `refs`, if git stores each reference as a file in it.
fn find_ref_folder(root: &Path) -> Option<PathBuf> {
    let common = find_common_dir(&find_git_dir(root)?);
    let has_files = !ConfigText::of_repository(root)?.mentions(&OTHER_BACKEND_SETTINGS);
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
        assert_eq!(read_loose_ref(&linked, "refs/ralph/T/a"), Some(commit.clone()));
        assert_eq!(read_loose_ref(&linked, "refs/ralph/T/c"), None);
        let expected = format!("refs/ralph/T/a {commit}\nrefs/ralph/T/b {commit}\n");
        assert_eq!(listed_refs(&root), expected);
        run_git(&root, &["pack-refs", "--all"]).unwrap();
        assert_eq!(listed_refs(&root), expected);
        assert_eq!(run_git(&root, &["fsck", "--strict"]).unwrap(), "");
    }

    // finding: N42
    #[test]
    fn folders_of_references_are_listed_whether_they_are_packed_or_not() {
        let (temp, root) = new_repository();
        let listed = |root: &Path| list_ref_folders(root, "refs/ralph/").map(Vec::from_iter);
        assert_eq!(listed(&root), Some(Vec::new()));
        let commit = commit_all(&root);
        let refs = |names: [&str; 2]| names.map(|name| (format!("refs/ralph/{name}"), commit.clone()));
        create_refs(&root, &refs(["T/a", "U/x/b"]), "test").unwrap();
        run_git(&root, &["pack-refs", "--all", "--prune"]).unwrap();
        create_refs(&root, &refs(["T/c", "V/b"]), "test").unwrap();
        let linked = temp.path().join("linked");
        run_git(&root, &["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]).unwrap();
        for root in [&root, &linked] {
            assert_eq!(listed(root).unwrap(), ["T", "U", "V"]);
        }
        let other = temp.path().join("other");
        run_git(&root, &["init", "--quiet", "--ref-format=reftable", other.to_str().unwrap()]).unwrap();
        assert_eq!(listed(&other), None);
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
