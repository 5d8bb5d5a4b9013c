//! Reads the HEAD commit of a work tree and its uncommitted files. An agent can forge the `.git/index` from which
//! `git status` derives them, so the files themselves are compared with HEAD too.
use std::collections::BTreeSet;
use std::path::Path;

use ralph_core::commit_requirement::RepositoryState;

use super::GitError;
use super::isolated_git::IsolatedGit;
use crate::git::work_files::worktree_hash::list_changed_paths;

/// Reads the state of a work tree. `base` is the commit that HEAD is compared with.
pub fn read_position(root: &Path, base: Option<&str>) -> Result<RepositoryState, GitError> {
    let git = IsolatedGit::in_folder(root);
    let status =
        git.read_stdout(&["status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all"])?;
    let mut position = RepositoryState::default();
    for entry in status.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let entry = String::from_utf8_lossy(entry);
        match entry.strip_prefix("# ") {
            Some(header) => {
                let commit = header.strip_prefix("branch.oid ").filter(|oid| *oid != "(initial)");
                position.head = commit.map(str::to_owned).or(position.head.take());
            }
            None => position.uncommitted.extend(parse_entry_path(&entry)),
        }
    }
    let known: BTreeSet<String> = position.uncommitted.iter().cloned().collect();
    position.uncommitted.extend(list_changed_paths(root)?.into_iter().filter(|path| !known.contains(path)));
    if let (Some(base), Some(head)) = (base, &position.head) {
        let tree = |commit: &str| git.read_line(&["rev-parse", &format!("{commit}^{{tree}}")]);
        position.is_unchanged = base == head || tree(base)? == tree(head)?;
    }
    Ok(position)
}

/// Returns the path of an entry. It follows a fixed number of fields, which depends on the kind of the entry.
fn parse_entry_path(entry: &str) -> Option<String> {
    let fields = match entry.split(' ').next()? {
        "1" => 9,
        "u" => 11,
        "?" => 2,
        _ => return None,
    };
    entry.splitn(fields, ' ').nth(fields - 1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::testing::{commit_all, new_repository};

    // spec: V10, V13
    #[test]
    fn changed_new_and_removed_files_are_named_until_committed() {
        let (_temp, root) = new_repository();
        let base = commit_all(&root);
        assert!(read_position(&root, Some(&base)).unwrap().is_unchanged);
        fs::write(root.join("file"), "other").unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/a b"), "").unwrap();
        let found = read_position(&root, Some(&base)).unwrap();
        assert_eq!((found.head.as_deref(), found.is_unchanged), (Some(base.as_str()), true));
        assert_eq!(found.uncommitted, ["file", "sub/a b"]);
        let head = commit_all(&root);
        let found = read_position(&root, Some(&base)).unwrap();
        assert_eq!((found.head, found.is_unchanged), (Some(head), false));
        assert!(found.uncommitted.is_empty());
    }

    // spec: V10, V13
    // finding: N11
    #[test]
    fn changes_hidden_from_git_status_are_named() {
        for hide in ["--assume-unchanged", "--skip-worktree"] {
            let (_temp, root) = new_repository();
            commit_all(&root);
            crate::git::run_git(&root, &["update-index", hide, "file"]).unwrap();
            fs::write(root.join("file"), "hidden").unwrap();
            assert_eq!(read_position(&root, None).unwrap().uncommitted, ["file"], "{hide}");
        }
    }

    // spec: V10
    #[test]
    fn all_files_are_uncommitted_before_the_first_commit() {
        let (_temp, root) = new_repository();
        fs::write(root.join("new"), "").unwrap();
        assert!(read_position(&root, None).unwrap().uncommitted.contains(&"new".to_owned()));
    }

    // spec: V13
    #[test]
    fn an_empty_commit_does_not_count_as_work() {
        let (_temp, root) = new_repository();
        let base = commit_all(&root);
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        let empty = [&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "nothing"]].concat();
        crate::git::run_git(&root, &empty).unwrap();
        assert!(read_position(&root, Some(&base)).unwrap().is_unchanged);
    }
}
