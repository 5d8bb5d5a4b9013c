//! Commits what an agent left uncommitted in the work tree of a task. No hook runs and nothing is signed.
use std::collections::BTreeMap;
use std::path::PathBuf;

use ralph_core::agent_work_commit::{LeftOutFile, commit_message, reason_to_leave_out};

use super::{TaskWorktree, WorktreeError};
use crate::git::{self, CommitAuthor, NewCommit, TreeEntry};

/// The commit of an agent's work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentWorkCommit {
    /// `None` if there was nothing to commit.
    pub commit: Option<String>,
    pub left_out: Vec<LeftOutFile>,
}

/// Commits the uncommitted files of a task work tree, except ignored, secret-shaped and large ones, and moves HEAD.
pub fn commit_agent_work(tree: &TaskWorktree, stage: &str) -> Result<AgentWorkCommit, WorktreeError> {
    let root = &tree.path;
    let head = git::head_commit(root)?.ok_or(WorktreeError::NoCommitYet)?;
    let all = git::write_worktree_tree(root)?;
    let mut left_out = Vec::new();
    for change in git::diff_trees(root, &head, &all)? {
        // A removed file can be committed whatever its name is.
        let Ok(found) = root.join(&change.path).symlink_metadata() else { continue };
        let path = change.path.to_string_lossy().into_owned();
        if let Some(reason) = reason_to_leave_out(&path, found.len()) {
            left_out.push((change.path, LeftOutFile { path, reason }));
        }
    }
    let contents = match left_out.as_slice() {
        [] => all,
        some => {
            let committed = git::list_tree_entries(root, &head)?;
            let before = |path: &PathBuf| (path.clone(), committed.get(path).cloned());
            let edits: BTreeMap<PathBuf, Option<TreeEntry>> = some.iter().map(|(path, _)| before(path)).collect();
            git::edit_tree(root, &all, &edits)?
        }
    };
    let left_out = left_out.into_iter().map(|(_, file)| file).collect();
    if git::have_same_tree(root, &head, &contents)? == Some(true) {
        return Ok(AgentWorkCommit { commit: None, left_out });
    }
    let message = commit_message(&tree.task_id, stage);
    let new = NewCommit { tree: &contents, parents: &[&head], message: &message };
    let commit = git::commit_tree(root, &new, CommitAuthor::User)?;
    git::move_detached_head(root, &head, &commit, "ralph: committed the work of the agent")?;
    git::reset_index(root, &commit)?;
    Ok(AgentWorkCommit { commit: Some(commit), left_out })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::commit_all;
    use crate::worktree::tests::worktree_fixture::WorktreeFixture;

    // spec: V13
    #[test]
    fn uncommitted_work_is_committed_without_ignored_secret_and_large_files() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        let write = |name: &str, bytes: &[u8]| fs::write(tree.path.join(name), bytes).unwrap();
        write(".gitignore", b"out\n");
        write("file", b"work");
        write("out", b"ignored");
        write(".env", b"TOKEN=1");
        write("big", &vec![0; 6 * 1024 * 1024]);
        run_git(&tree.path, &["config", "core.hooksPath", "hooks"]).unwrap();
        let done = commit_agent_work(&tree, "coder").unwrap();
        let left_out: Vec<&str> = done.left_out.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(left_out, [".env", "big"]);
        assert_eq!(git::head_commit(&tree.path).unwrap(), done.commit);
        assert_eq!(run_git(&tree.path, &["status", "--porcelain"]).unwrap(), "?? .env\n?? big\n");
        let message = run_git(&tree.path, &["log", "-1", "--format=%B"]).unwrap();
        assert!(message.contains("\nCommitted-By-Ralph: before verification"), "{message}");
        let again = commit_agent_work(&tree, "coder").unwrap();
        assert_eq!((again.commit, again.left_out.len()), (None, 2));
    }

    // spec: V13
    #[test]
    fn a_committed_secret_file_keeps_its_content_and_a_removed_one_is_removed() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        for name in [".env", "old.pem"] {
            fs::write(tree.path.join(name), "old").unwrap();
        }
        commit_all(&tree.path);
        fs::write(tree.path.join(".env"), "new").unwrap();
        fs::remove_file(tree.path.join("old.pem")).unwrap();
        commit_agent_work(&tree, "coder").unwrap();
        assert_eq!(run_git(&tree.path, &["show", "HEAD:.env"]).unwrap(), "old");
        assert!(run_git(&tree.path, &["show", "HEAD:old.pem"]).is_err());
    }
}
