//! Commits that are made without a work tree.
use std::path::Path;

use super::GitError;
use super::plain::Plain;

/// A commit to be made.
pub struct NewCommit<'a> {
    /// What it holds: a tree, or a commit with that tree.
    pub tree: &'a str,
    pub parents: &'a [&'a str],
    pub message: &'a str,
}

/// Whose name stands in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The user's, or ralph's where git knows none.
    User,
    Ralph,
}

const NAME: &str = "ralph";
const EMAIL: &str = "ralph@localhost";

/// Makes a commit and returns its id. No reference leads to it yet.
pub fn commit_tree(root: &Path, new: &NewCommit<'_>, author: Author) -> Result<String, GitError> {
    let tree = format!("{}^{{tree}}", new.tree);
    let mut args = vec!["commit-tree", &tree, "-m", new.message];
    args.extend(new.parents.iter().flat_map(|parent| ["-p", parent]));
    signed(Plain::at(root), author).line(&args)
}

/// Tells whether two commits or trees hold the same files; nothing where one of them is not there.
pub fn same_tree(root: &Path, one: &str, other: &str) -> Result<Option<bool>, GitError> {
    let git = Plain::at(root);
    let tree = |name: &str| {
        let answer = git.answer(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{tree}}")], &[])?;
        match answer.code {
            // A whole id is believed until somebody looks for the object.
            Some(1 | 128) => Ok(None),
            _ => answer.success().map(Some),
        }
    };
    Ok(match (tree(one)?, tree(other)?) {
        (Some(one), Some(other)) => Some(one == other),
        (_, _) => None,
    })
}

fn signed(git: Plain<'_>, author: Author) -> Plain<'_> {
    if author == Author::User && has_identity(&git) {
        return git;
    }
    git.with("GIT_AUTHOR_NAME", NAME)
        .with("GIT_AUTHOR_EMAIL", EMAIL)
        .with("GIT_COMMITTER_NAME", NAME)
        .with("GIT_COMMITTER_EMAIL", EMAIL)
}

/// Git would guess a name from the machine's; only one that somebody has set counts.
fn has_identity(git: &Plain<'_>) -> bool {
    let known = |who: &str| git.bytes(&["-c", "user.useConfigOnly=true", "var", who]).is_ok();
    known("GIT_AUTHOR_IDENT") && known("GIT_COMMITTER_IDENT")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::git;
    use crate::git::testing::{commit_all, repository};

    // spec: P6
    #[test]
    fn a_commit_bears_the_users_name_where_git_knows_it() {
        let (_temp, root) = repository();
        let first = commit_all(&root);
        git(&root, &["config", "user.name", "Ada"]).unwrap();
        git(&root, &["config", "user.email", "ada@example.invalid"]).unwrap();
        let new = NewCommit { tree: &first, parents: &[&first], message: "a merge" };
        let author = |author: Author| {
            let commit = commit_tree(&root, &new, author).unwrap();
            git(&root, &["log", "-1", "--format=%an %s %p", &commit]).unwrap()
        };
        assert!(author(Author::User).starts_with("Ada a merge "));
        assert!(author(Author::Ralph).starts_with("ralph a merge "));
    }
}
