//! Creates a commit of everything in a work tree: tracked and untracked files, but not ignored ones. Index, HEAD and
//! files of the work tree do not change.
use std::path::Path;

use crate::git::GitError;
use crate::git::objects::commit_tree::{CommitAuthor, NewCommit, commit_tree};
use crate::git::work_files::worktree_hash::{NewObjects, WorktreeHash, hash_worktree};

/// A commit of everything in a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeCommit {
    /// The commit with all files. Its parent is the HEAD commit of the work tree.
    pub commit: String,
    /// Git's message about files that it could not add.
    pub left_out: Option<String>,
}

/// Creates a commit of everything in a work tree. No reference points to it yet.
pub fn commit_worktree(root: &Path, message: &str) -> Result<WorktreeCommit, GitError> {
    let WorktreeHash { head, tree, left_out } = hash_worktree(root, NewObjects::Keep)?;
    let parents: Vec<&str> = head.iter().map(|head| head.commit.as_str()).collect();
    let commit = commit_tree(root, &NewCommit { tree: &tree, parents: &parents, message }, CommitAuthor::Ralph)?;
    Ok(WorktreeCommit { commit, left_out })
}

/// Creates a tree of everything in a work tree, without a commit. No reference points to it yet.
pub fn write_worktree_tree(root: &Path) -> Result<String, GitError> {
    Ok(hash_worktree(root, NewObjects::Keep)?.tree)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    // spec: P7
    #[test]
    fn a_worktree_commit_contains_everything_and_changes_nothing() {
        let (_temp, root) = new_repository();
        fs::write(root.join(".gitignore"), "out\n").unwrap();
        let head = commit_all(&root);
        let clean = commit_worktree(&root, "kept").unwrap();
        assert_eq!(run_git(&root, &["rev-parse", &format!("{}^", clean.commit)]).unwrap().trim(), head);
        assert_eq!(run_git(&root, &["diff", &head, &clean.commit]).unwrap(), "");
        fs::write(root.join("file"), "changed").unwrap();
        run_git(&root, &["add", "file"]).unwrap();
        fs::write(root.join("file"), "changed again").unwrap();
        fs::write(root.join("new"), "new").unwrap();
        fs::write(root.join("out"), "ignored").unwrap();
        let index = fs::read(root.join(".git/index")).unwrap();
        let kept = commit_worktree(&root, "kept").unwrap();
        assert_eq!((fs::read(root.join(".git/index")).unwrap(), &kept.left_out), (index, &None));
        let show = |name: &str| run_git(&root, &["show", &format!("{}:{name}", kept.commit)]);
        assert_eq!((show("file").unwrap(), show("new").unwrap()), ("changed again".into(), "new".into()));
        assert!(show("out").is_err());
        assert_eq!(run_git(&root, &["rev-parse", "HEAD"]).unwrap().trim(), head);
    }

    // spec: P7
    #[test]
    fn a_change_hidden_from_git_is_committed_too() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        run_git(&root, &["update-index", "--assume-unchanged", "file"]).unwrap();
        fs::write(root.join("file"), "hidden").unwrap();
        let kept = commit_worktree(&root, "kept").unwrap();
        assert_eq!(run_git(&root, &["show", &format!("{}:file", kept.commit)]).unwrap(), "hidden");
    }

    // spec: P7
    #[test]
    fn an_empty_nested_repository_does_not_prevent_the_commit() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        fs::create_dir(root.join("inner")).unwrap();
        run_git(&root.join("inner"), &["init", "--quiet"]).unwrap();
        fs::write(root.join("new"), "new").unwrap();
        let kept = commit_worktree(&root, "kept").unwrap();
        assert!(kept.left_out.is_some_and(|message| message.contains("inner")));
        assert_eq!(run_git(&root, &["show", &format!("{}:new", kept.commit)]).unwrap(), "new");
    }
}
