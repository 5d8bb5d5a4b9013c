//! Reads references, and updates several of them in one transaction.
use std::path::Path;

use super::GitError;
use super::isolated_git::IsolatedGit;

/// The value that a reference must have before an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedRef {
    Any,
    /// The reference must not exist.
    Absent,
    Commit(String),
}

/// An update of one reference, by its full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefUpdate {
    Set { name: String, to: String, expected: ExpectedRef },
    Delete { name: String },
}

impl RefUpdate {
    /// Creates a reference that must not exist yet.
    #[must_use]
    pub fn create(name: impl Into<String>, to: &str) -> Self {
        Self::Set { name: name.into(), to: to.to_owned(), expected: ExpectedRef::Absent }
    }

    /// Moves a reference from one commit to another.
    #[must_use]
    pub fn move_between(name: impl Into<String>, from: &str, to: &str) -> Self {
        Self::Set { name: name.into(), to: to.to_owned(), expected: ExpectedRef::Commit(from.to_owned()) }
    }

    fn to_stdin_line(&self) -> String {
        match self {
            Self::Set { name, to, expected: ExpectedRef::Any } => format!("update {name}\0{to}\0\0"),
            Self::Set { name, to, expected: ExpectedRef::Absent } => format!("create {name}\0{to}\0"),
            Self::Set { name, to, expected: ExpectedRef::Commit(was) } => {
                format!("update {name}\0{to}\0{was}\0")
            }
            Self::Delete { name } => format!("delete {name}\0\0"),
        }
    }
}

/// Updates all of these references or none. `reason` is written to their reflogs.
pub fn update_refs(root: &Path, changes: &[RefUpdate], reason: &str) -> Result<(), GitError> {
    let lines: String = changes.iter().map(RefUpdate::to_stdin_line).collect();
    IsolatedGit::in_folder(root)
        .read_stdout_with_input(&["update-ref", "-m", reason, "--stdin", "-z"], lines.as_bytes())
        .map(drop)
}

/// Returns the commit that a name refers to, if any.
pub fn resolve_commit(root: &Path, name: &str) -> Result<Option<String>, GitError> {
    resolve_object(root, &format!("{name}^{{commit}}"))
}

/// Returns the object that a name refers to, if any.
pub fn resolve_object(root: &Path, name: &str) -> Result<Option<String>, GitError> {
    let answer = IsolatedGit::in_folder(root)
        .run_with_input(&["rev-parse", "--verify", "--quiet", "--end-of-options", name], &[])?;
    match answer.code {
        Some(1) => Ok(None),
        _ => Ok(Some(String::from_utf8_lossy(&answer.into_stdout()?).trim_end().to_owned())),
    }
}

/// A reference, the commit that it points to, and the time of that commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefEntry {
    pub name: String,
    pub commit: String,
    /// Seconds since 1970.
    pub committed_at: i64,
}

/// Returns the references below a prefix, ordered by name.
pub fn list_refs(root: &Path, prefix: &str) -> Result<Vec<RefEntry>, GitError> {
    list_matching_refs(root, &[prefix])
}

/// Returns the references that match a pattern and are not merged into `commit`.
pub fn list_unmerged_refs(root: &Path, pattern: &str, commit: &str) -> Result<Vec<RefEntry>, GitError> {
    list_matching_refs(root, &["--no-merged", commit, pattern])
}

fn list_matching_refs(root: &Path, filter: &[&str]) -> Result<Vec<RefEntry>, GitError> {
    let format = "--format=%(objectname) %(committerdate:unix) %(refname)";
    let listed = IsolatedGit::in_folder(root).read_stdout(&[&["for-each-ref", format], filter].concat())?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    Ok(listed.lines().filter_map(parse_ref_entry).collect())
}

fn parse_ref_entry(line: &str) -> Option<RefEntry> {
    let mut parts = line.splitn(3, ' ');
    let (commit, committed_at, name) = (parts.next()?, parts.next()?, parts.next()?);
    Some(RefEntry { name: name.to_owned(), commit: commit.to_owned(), committed_at: committed_at.parse().unwrap_or(0) })
}

/// Returns the full name of the branch of a work tree; `None` if its HEAD is detached.
pub fn current_branch(root: &Path) -> Result<Option<String>, GitError> {
    let answer = IsolatedGit::in_folder(root).run_with_input(&["symbolic-ref", "--quiet", "HEAD"], &[])?;
    match answer.code {
        Some(1) => Ok(None),
        _ => Ok(Some(String::from_utf8_lossy(&answer.into_stdout()?).trim_end().to_owned())),
    }
}

/// Detaches the HEAD of a work tree at a commit. Files and index do not change.
pub fn detach_head(root: &Path, commit: &str, reason: &str) -> Result<(), GitError> {
    IsolatedGit::in_folder(root).read_stdout(&["update-ref", "--no-deref", "-m", reason, "HEAD", commit]).map(drop)
}

/// Detaches the HEAD of a work tree at commit `to`, if HEAD is still at `from`.
pub fn move_detached_head(root: &Path, from: &str, to: &str, reason: &str) -> Result<(), GitError> {
    IsolatedGit::in_folder(root).read_stdout(&["update-ref", "--no-deref", "-m", reason, "HEAD", to, from]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::{commit_all, new_repository};

    // spec: P6, P7
    #[test]
    fn all_references_are_updated_or_none() {
        let (_temp, root) = new_repository();
        let first = commit_all(&root);
        update_refs(&root, &[RefUpdate::create("refs/ralph/T/a", &first)], "test").unwrap();
        let changes = [RefUpdate::create("refs/ralph/T/b", &first), RefUpdate::create("refs/ralph/T/a", &first)];
        assert!(update_refs(&root, &changes, "test").is_err());
        let names = |found: Vec<RefEntry>| found.into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names(list_refs(&root, "refs/ralph/T").unwrap()), ["refs/ralph/T/a"]);
        assert_eq!(resolve_commit(&root, "refs/ralph/T/a").unwrap(), Some(first.clone()));
        assert_eq!(resolve_commit(&root, "refs/ralph/T/b").unwrap(), None);
        std::fs::write(root.join("file"), "other").unwrap();
        let second = commit_all(&root);
        let moved = [RefUpdate::move_between("refs/ralph/T/a", &second, &first)];
        assert!(update_refs(&root, &moved, "test").is_err(), "it is not at the expected commit");
        let drop = [RefUpdate::Delete { name: "refs/ralph/T/a".to_owned() }];
        update_refs(&root, &drop, "test").unwrap();
        assert!(list_refs(&root, "refs/ralph/T").unwrap().is_empty());
    }

    // spec: P6
    #[test]
    fn a_branch_is_distinguished_from_a_detached_head() {
        let (_temp, root) = new_repository();
        let commit = commit_all(&root);
        assert!(current_branch(&root).unwrap().unwrap().starts_with("refs/heads/"));
        detach_head(&root, &commit, "test").unwrap();
        assert_eq!(current_branch(&root).unwrap(), None);
    }
}
