//! What a work tree holds at this moment, by the hash of its tree. It changes nothing: what was never added is hashed into
//! a folder of its own.
use std::path::Path;

use ralph_core::receipt::Snapshot;

use super::GitError;
use super::plain::Plain;
use super::temporary::Temporary;

/// Looks at the work tree: the commit that it stands on, and all its files but the ignored ones.
pub fn snapshot(root: &Path) -> Result<Snapshot, GitError> {
    let Standing { commit, committed, is_clean, known } = standing(root)?;
    let tree = match &committed {
        Some(tree) if is_clean => tree.clone(),
        Some(_) | None => tree_of(root, &known)?,
    };
    Ok(Snapshot { is_committed: committed.as_ref() == Some(&tree), commit, tree })
}

/// Where a work tree stands, and whether there is more in it than that.
pub(super) struct Standing {
    pub(super) commit: Option<String>,
    /// The tree of the commit.
    pub(super) committed: Option<String>,
    pub(super) is_clean: bool,
    pub(super) known: Known,
}

pub(super) fn standing(root: &Path) -> Result<Standing, GitError> {
    let git = Plain::at(root);
    let status = git.bytes(&["status", "--porcelain=v2", "--branch", "-z", "--no-renames"])?;
    let (mut commit, mut is_clean) = (None, true);
    for entry in status.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        match entry.strip_prefix(b"# branch.oid ") {
            Some(b"(initial)") => {}
            Some(oid) => commit = Some(String::from_utf8_lossy(oid).into_owned()),
            None => is_clean &= entry.starts_with(b"#"),
        }
    }
    let committed = match &commit {
        Some(commit) => Some(git.line(&["rev-parse", &format!("{commit}^{{tree}}")])?),
        None => None,
    };
    let known = known(&git, commit.as_deref())?;
    Ok(Standing { commit, committed, is_clean: is_clean && known == Known::Index, known })
}

/// Looks at what is committed alone.
pub fn committed(root: &Path) -> Result<Snapshot, GitError> {
    let git = Plain::at(root);
    let commit = git.line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let tree = git.line(&["rev-parse", &format!("{commit}^{{tree}}")])?;
    Ok(Snapshot { commit: Some(commit), tree, is_committed: true })
}

/// Returns a commit whose tree this is, if a branch, a tag or the work tree leads to one.
pub fn commit_with_tree(root: &Path, tree: &str) -> Result<Option<String>, GitError> {
    let places = ["--branches", "--tags", "--remotes", "HEAD"];
    let all = Plain::at(root).bytes(&[&["log", "--format=%T %H"][..], &places].concat())?;
    let all = String::from_utf8_lossy(&all).into_owned();
    Ok(all.lines().find_map(|line| line.strip_prefix(tree)?.strip_prefix(' ').map(str::to_owned)))
}

/// What git may believe of files without reading them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// What stands in its index.
    Index,
    /// It was told to take some files for unchanged: nothing but what this commit holds.
    Commit(Option<String>),
}

fn known(git: &Plain<'_>, commit: Option<&str>) -> Result<Known, GitError> {
    let listed = git.bytes(&["ls-files", "-v", "-z"])?;
    let mut entries = listed.split(|byte| *byte == 0);
    let is_hiding = entries.any(|entry| entry.first().is_some_and(u8::is_ascii_lowercase));
    Ok(if is_hiding { Known::Commit(commit.map(str::to_owned)) } else { Known::Index })
}

impl Known {
    /// Fills an index of our own with what may be believed.
    pub(super) fn fill(&self, git: &Plain<'_>, own: &Temporary, index: &Path) -> Result<(), GitError> {
        match self {
            Self::Index if index.is_file() => {
                std::fs::copy(index, own.path.join("index")).map_err(|source| own.failed(source))?;
            }
            Self::Commit(Some(commit)) => drop(git.bytes(&["read-tree", commit])?),
            Self::Index | Self::Commit(None) => {}
        }
        Ok(())
    }
}

/// Takes everything into the index of a call.
pub(super) fn add_all(git: &Plain<'_>, options: &[&str]) -> Result<(), GitError> {
    git.bytes(&[&["-c", "advice.addEmbeddedRepo=false", "add", "--all"], options].concat()).map(drop)
}

/// Hashes the files as they lie there, with an index and a place for objects of our own.
fn tree_of(root: &Path, known: &Known) -> Result<String, GitError> {
    let own = Temporary::make("tree")?;
    let git = Plain::at(root);
    let (index, objects) = (git.inside("index")?, git.inside("objects")?);
    let git = git
        .patient()
        .with("GIT_INDEX_FILE", own.path.join("index"))
        .with("GIT_OBJECT_DIRECTORY", own.path.join("objects"))
        .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
    std::fs::create_dir(own.path.join("objects")).map_err(|source| own.failed(source))?;
    known.fill(&git, &own, &index)?;
    add_all(&git, &[])?;
    git.line(&["write-tree"])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::testing::{commit_all, repository};

    // spec: V14
    #[test]
    fn a_work_tree_that_is_committed_has_the_tree_of_its_commit() {
        let (_temp, root) = repository();
        let commit = commit_all(&root);
        let seen = snapshot(&root).unwrap();
        assert_eq!(seen.commit.as_deref(), Some(commit.as_str()));
        assert!(seen.is_committed);
        assert_eq!(commit_with_tree(&root, &seen.tree).unwrap(), Some(commit));
        assert_eq!(commit_with_tree(&root, &"0".repeat(40)).unwrap(), None);
    }

    // spec: V14
    #[test]
    fn what_is_not_committed_has_the_tree_that_a_commit_of_it_would_have() {
        let (_temp, root) = repository();
        commit_all(&root);
        fs::write(root.join("new"), "file").unwrap();
        fs::write(root.join("file"), "changed").unwrap();
        let before = fs::read(root.join(".git/index")).unwrap();
        let seen = snapshot(&root).unwrap();
        assert!(!seen.is_committed);
        assert_eq!(fs::read(root.join(".git/index")).unwrap(), before, "the user's index stays as it is");
        let commit = commit_all(&root);
        assert_eq!(commit_with_tree(&root, &seen.tree).unwrap(), Some(commit));
        assert!(snapshot(&root).unwrap().is_committed);
    }

    // spec: V14
    #[test]
    fn a_change_that_git_was_told_not_to_see_is_seen() {
        let (_temp, root) = repository();
        commit_all(&root);
        let first = snapshot(&root).unwrap();
        Plain::at(&root).bytes(&["update-index", "--assume-unchanged", "file"]).unwrap();
        assert_eq!(snapshot(&root).unwrap(), first);
        fs::write(root.join("file"), "made weaker").unwrap();
        let seen = snapshot(&root).unwrap();
        assert!(!seen.is_committed && seen.tree != first.tree);
    }

    // spec: V14
    #[test]
    fn a_repository_without_a_commit_and_ignored_files_are_no_trouble() {
        let (_temp, root) = repository();
        fs::write(root.join(".gitignore"), "out\n").unwrap();
        let seen = snapshot(&root).unwrap();
        assert_eq!((seen.commit.as_deref(), seen.is_committed), (None, false));
        fs::write(root.join("out"), "built").unwrap();
        assert_eq!(snapshot(&root).unwrap(), seen);
    }
}
