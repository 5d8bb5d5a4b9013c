//! References: read by name, and changed several at once or not at all.
use std::path::Path;

use super::GitError;
use super::plain::Plain;

/// What a reference must have been for a change to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Was {
    Anything,
    /// It was not there.
    Nothing,
    At(String),
}

/// A change of one reference, by its full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefChange {
    Put { name: String, to: String, was: Was },
    Drop { name: String },
}

impl RefChange {
    /// Makes a reference that is not there yet.
    #[must_use]
    pub fn new(name: impl Into<String>, to: &str) -> Self {
        Self::Put { name: name.into(), to: to.to_owned(), was: Was::Nothing }
    }

    /// Moves a reference from one commit to another.
    #[must_use]
    pub fn moved(name: impl Into<String>, from: &str, to: &str) -> Self {
        Self::Put { name: name.into(), to: to.to_owned(), was: Was::At(from.to_owned()) }
    }

    fn line(&self) -> String {
        match self {
            Self::Put { name, to, was: Was::Anything } => format!("update {name}\0{to}\0\0"),
            Self::Put { name, to, was: Was::Nothing } => format!("create {name}\0{to}\0"),
            Self::Put { name, to, was: Was::At(was) } => format!("update {name}\0{to}\0{was}\0"),
            Self::Drop { name } => format!("delete {name}\0\0"),
        }
    }
}

/// Changes all of these references, or none. `why` stands in the log of those that keep one.
pub fn change_refs(root: &Path, changes: &[RefChange], why: &str) -> Result<(), GitError> {
    let lines: String = changes.iter().map(RefChange::line).collect();
    Plain::at(root).fed(&["update-ref", "-m", why, "--stdin", "-z"], lines.as_bytes()).map(drop)
}

/// Returns the commit that a name leads to, if it leads to one.
pub fn commit_at(root: &Path, name: &str) -> Result<Option<String>, GitError> {
    object_at(root, &format!("{name}^{{commit}}"))
}

/// Returns whatever a name leads to.
pub fn object_at(root: &Path, name: &str) -> Result<Option<String>, GitError> {
    let answer =
        Plain::at(root).answer(&["rev-parse", "--verify", "--quiet", "--end-of-options", name], &[])?;
    match answer.code {
        Some(1) => Ok(None),
        _ => Ok(Some(String::from_utf8_lossy(&answer.success()?).trim_end().to_owned())),
    }
}

/// A reference, the commit that it leads to, and when that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRef {
    pub name: String,
    pub commit: String,
    /// Seconds since 1970.
    pub made_at: i64,
}

/// Returns the references below a prefix, by name.
pub fn refs_below(root: &Path, prefix: &str) -> Result<Vec<FoundRef>, GitError> {
    listed(root, &[prefix])
}

/// Returns those that match a pattern and whose commits another one does not have.
pub fn refs_not_in(root: &Path, pattern: &str, commit: &str) -> Result<Vec<FoundRef>, GitError> {
    listed(root, &["--no-merged", commit, pattern])
}

fn listed(root: &Path, which: &[&str]) -> Result<Vec<FoundRef>, GitError> {
    let format = "--format=%(objectname) %(committerdate:unix) %(refname)";
    let listed = Plain::at(root).bytes(&[&["for-each-ref", format], which].concat())?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    Ok(listed.lines().filter_map(found).collect())
}

fn found(line: &str) -> Option<FoundRef> {
    let mut parts = line.splitn(3, ' ');
    let (commit, made_at, name) = (parts.next()?, parts.next()?, parts.next()?);
    Some(FoundRef { name: name.to_owned(), commit: commit.to_owned(), made_at: made_at.parse().unwrap_or(0) })
}

/// Returns the full name of the branch that a work tree is on; none where its HEAD is detached.
pub fn branch_of(root: &Path) -> Result<Option<String>, GitError> {
    let answer = Plain::at(root).answer(&["symbolic-ref", "--quiet", "HEAD"], &[])?;
    match answer.code {
        Some(1) => Ok(None),
        _ => Ok(Some(String::from_utf8_lossy(&answer.success()?).trim_end().to_owned())),
    }
}

/// Puts the HEAD of a work tree on a commit, detached. Neither files nor index are touched.
pub fn detach_at(root: &Path, commit: &str, why: &str) -> Result<(), GitError> {
    Plain::at(root).bytes(&["update-ref", "--no-deref", "-m", why, "HEAD", commit]).map(drop)
}

/// Puts the HEAD of a work tree on a commit, detached, if it leads to the other one still.
pub fn move_head(root: &Path, (from, to): (&str, &str), why: &str) -> Result<(), GitError> {
    Plain::at(root).bytes(&["update-ref", "--no-deref", "-m", why, "HEAD", to, from]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::{commit_all, repository};

    // spec: P6, P7
    #[test]
    fn all_references_are_changed_or_none() {
        let (_temp, root) = repository();
        let first = commit_all(&root);
        change_refs(&root, &[RefChange::new("refs/ralph/T/a", &first)], "test").unwrap();
        let changes = [RefChange::new("refs/ralph/T/b", &first), RefChange::new("refs/ralph/T/a", &first)];
        assert!(change_refs(&root, &changes, "test").is_err());
        let names = |found: Vec<FoundRef>| found.into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names(refs_below(&root, "refs/ralph/T").unwrap()), ["refs/ralph/T/a"]);
        assert_eq!(commit_at(&root, "refs/ralph/T/a").unwrap(), Some(first.clone()));
        assert_eq!(commit_at(&root, "refs/ralph/T/b").unwrap(), None);
        std::fs::write(root.join("file"), "other").unwrap();
        let second = commit_all(&root);
        let moved = [RefChange::moved("refs/ralph/T/a", &second, &first)];
        assert!(change_refs(&root, &moved, "test").is_err(), "it is not where it should be moved from");
        let drop = [RefChange::Drop { name: "refs/ralph/T/a".to_owned() }];
        change_refs(&root, &drop, "test").unwrap();
        assert!(refs_below(&root, "refs/ralph/T").unwrap().is_empty());
    }

    // spec: P6
    #[test]
    fn a_branch_is_told_from_a_detached_head() {
        let (_temp, root) = repository();
        let commit = commit_all(&root);
        assert!(branch_of(&root).unwrap().unwrap().starts_with("refs/heads/"));
        detach_at(&root, &commit, "test").unwrap();
        assert_eq!(branch_of(&root).unwrap(), None);
    }
}
