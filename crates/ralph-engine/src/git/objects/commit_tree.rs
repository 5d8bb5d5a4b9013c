//! Creates commits without a work tree.
use std::path::Path;

use crate::git::GitError;
use crate::git::isolated_git::IsolatedGit;

/// A commit to create.
pub struct NewCommit<'a> {
    /// Its contents: a tree, or a commit with that tree.
    pub tree: &'a str,
    pub parents: &'a [&'a str],
    pub message: &'a str,
}

/// The author and committer of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitAuthor {
    /// The user, or ralph if git has no identity of the user.
    User,
    Ralph,
}

const RALPH_AUTHOR_NAME: &str = "ralph";
const RALPH_AUTHOR_EMAIL: &str = "ralph@localhost";

/// Creates a commit and returns its id. No reference points to it yet.
pub fn commit_tree(root: &Path, new: &NewCommit<'_>, author: CommitAuthor) -> Result<String, GitError> {
    let tree = format!("{}^{{tree}}", new.tree);
    let mut args = vec!["commit-tree", &tree, "-m", new.message];
    args.extend(new.parents.iter().flat_map(|parent| ["-p", parent]));
    with_identity(IsolatedGit::in_folder(root), author).read_line(&args)
}

/// Returns whether two commits or trees contain the same files; `None` if one of them does not exist.
pub fn have_same_tree(root: &Path, one: &str, other: &str) -> Result<Option<bool>, GitError> {
    let git = IsolatedGit::in_folder(root);
    let tree = |name: &str| {
        let answer = git.run_with_input(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{tree}}")], &[])?;
        match answer.code {
            // 128: a full object id whose object does not exist.
            Some(1 | 128) => Ok(None),
            _ => answer.into_stdout().map(Some),
        }
    };
    Ok(match (tree(one)?, tree(other)?) {
        (Some(one), Some(other)) => Some(one == other),
        (_, _) => None,
    })
}

fn with_identity(git: IsolatedGit<'_>, author: CommitAuthor) -> IsolatedGit<'_> {
    if author == CommitAuthor::User && has_identity(&git) {
        return git;
    }
    git.with_env("GIT_AUTHOR_NAME", RALPH_AUTHOR_NAME)
        .with_env("GIT_AUTHOR_EMAIL", RALPH_AUTHOR_EMAIL)
        .with_env("GIT_COMMITTER_NAME", RALPH_AUTHOR_NAME)
        .with_env("GIT_COMMITTER_EMAIL", RALPH_AUTHOR_EMAIL)
}

/// Returns whether an identity is configured. Git would otherwise derive one from the name of the machine.
fn has_identity(git: &IsolatedGit<'_>) -> bool {
    let is_set = |identity: &str| git.read_stdout(&["-c", "user.useConfigOnly=true", "var", identity]).is_ok();
    is_set("GIT_AUTHOR_IDENT") && is_set("GIT_COMMITTER_IDENT")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    // spec: P6
    #[test]
    fn a_commit_has_the_users_name_if_git_knows_it() {
        let (_temp, root) = new_repository();
        let first = commit_all(&root);
        run_git(&root, &["config", "user.name", "Ada"]).unwrap();
        run_git(&root, &["config", "user.email", "ada@example.invalid"]).unwrap();
        let new = NewCommit { tree: &first, parents: &[&first], message: "a merge" };
        let author = |author: CommitAuthor| {
            let commit = commit_tree(&root, &new, author).unwrap();
            run_git(&root, &["log", "-1", "--format=%an %s %p", &commit]).unwrap()
        };
        assert!(author(CommitAuthor::User).starts_with("Ada a merge "));
        assert!(author(CommitAuthor::Ralph).starts_with("ralph a merge "));
    }
}
