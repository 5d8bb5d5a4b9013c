//! All that a work tree holds, as a commit: tracked and untracked files, committed or not, but for the ignored ones. Neither
//! its index nor its HEAD nor any file is touched.
use std::path::Path;

use super::commit_tree::{Author, NewCommit, commit_tree};
use super::plain::Plain;
use super::snapshot::{Standing, standing, take_in};
use super::temporary::Temporary;
use super::{GitError, own_file};

/// A work tree, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The commit that holds all of it. Its parent is the one that the work tree stood on.
    pub commit: String,
    /// What git could not take in, in its words.
    pub left_out: Option<String>,
}

/// Makes a commit of everything in a work tree. No reference leads to it yet.
pub fn keep(root: &Path, message: &str) -> Result<Kept, GitError> {
    let Whole { on, tree, left_out } = whole(root)?;
    let parents: Vec<&str> = on.as_deref().into_iter().collect();
    let commit = commit_tree(root, &NewCommit { tree: &tree, parents: &parents, message }, Author::Ralph)?;
    Ok(Kept { commit, left_out })
}

/// Makes a tree of everything in a work tree, without a commit. No reference leads to it yet.
pub fn keep_files(root: &Path) -> Result<String, GitError> {
    Ok(whole(root)?.tree)
}

struct Whole {
    /// The commit that the work tree stands on.
    on: Option<String>,
    tree: String,
    left_out: Option<String>,
}

fn whole(root: &Path) -> Result<Whole, GitError> {
    let Standing { commit: on, committed, is_clean, known } = standing(root)?;
    if let (Some(tree), true) = (committed, is_clean) {
        return Ok(Whole { on, tree, left_out: None });
    }
    let own = Temporary::make("keep")?;
    let index = own_file(root, "index")?;
    let git = Plain::at(root).patient().with("GIT_INDEX_FILE", own.path.join("index"));
    known.fill(&git, &own, &index)?;
    let left_out = take_in(&git)?;
    Ok(Whole { on, tree: git.line(&["write-tree"])?, left_out })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::git;
    use crate::git::testing::{commit_all, repository};

    // spec: P7
    #[test]
    fn what_is_kept_holds_everything_and_leaves_everything_as_it_is() {
        let (_temp, root) = repository();
        fs::write(root.join(".gitignore"), "out\n").unwrap();
        let head = commit_all(&root);
        let clean = keep(&root, "kept").unwrap();
        assert_eq!(git(&root, &["rev-parse", &format!("{}^", clean.commit)]).unwrap().trim(), head);
        assert_eq!(git(&root, &["diff", &head, &clean.commit]).unwrap(), "");
        fs::write(root.join("file"), "changed").unwrap();
        git(&root, &["add", "file"]).unwrap();
        fs::write(root.join("file"), "changed again").unwrap();
        fs::write(root.join("new"), "new").unwrap();
        fs::write(root.join("out"), "ignored").unwrap();
        let index = fs::read(root.join(".git/index")).unwrap();
        let kept = keep(&root, "kept").unwrap();
        assert_eq!((fs::read(root.join(".git/index")).unwrap(), &kept.left_out), (index, &None));
        let show = |name: &str| git(&root, &["show", &format!("{}:{name}", kept.commit)]);
        assert_eq!((show("file").unwrap(), show("new").unwrap()), ("changed again".into(), "new".into()));
        assert!(show("out").is_err());
        assert_eq!(git(&root, &["rev-parse", "HEAD"]).unwrap().trim(), head);
    }

    // spec: P7
    #[test]
    fn a_change_that_git_was_told_not_to_see_is_kept_too() {
        let (_temp, root) = repository();
        commit_all(&root);
        git(&root, &["update-index", "--assume-unchanged", "file"]).unwrap();
        fs::write(root.join("file"), "hidden").unwrap();
        let kept = keep(&root, "kept").unwrap();
        assert_eq!(git(&root, &["show", &format!("{}:file", kept.commit)]).unwrap(), "hidden");
    }

    // spec: P7
    #[test]
    fn a_repository_without_a_commit_inside_does_not_keep_the_rest_from_being_kept() {
        let (_temp, root) = repository();
        commit_all(&root);
        fs::create_dir(root.join("inner")).unwrap();
        git(&root.join("inner"), &["init", "--quiet"]).unwrap();
        fs::write(root.join("new"), "new").unwrap();
        let kept = keep(&root, "kept").unwrap();
        assert!(kept.left_out.is_some_and(|why| why.contains("inner")));
        assert_eq!(git(&root, &["show", &format!("{}:new", kept.commit)]).unwrap(), "new");
    }
}
