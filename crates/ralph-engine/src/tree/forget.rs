//! Everything of a task goes: its tree, its branch and its references, as far as nothing is lost with them.
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::make::recorded;
use super::{Removal, Site, TreeError, accept, find, names, remove, would_lose};
use crate::git::{self, FoundRef, RefChange};

/// What is left of the work on a task that is not merged, for people; nothing where all of it is.
pub fn unmerged(site: &Site, name: &str) -> Result<Vec<String>, TreeError> {
    if !is_ours(site, name)? {
        return Ok(Vec::new());
    }
    let mut left = Vec::new();
    if let Some(tree) = find(site, name)? {
        let lost = would_lose(site, &tree)?;
        left.extend(lost.map(|why| format!("the work tree {}: {why}", tree.path.display())));
    }
    let places = [names::branch(name), names::accepted(name)];
    let commits: Vec<Option<String>> =
        places.iter().map(|place| git::commit_at(&site.root, place)).collect::<Result<_, _>>()?;
    for commit in commits.iter().flatten() {
        if !is_merged(site, commit)? {
            left.push(format!("the branch ralph/{name}: it has commits that are not merged"));
            break;
        }
    }
    Ok(left)
}

/// What became of what a task had.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forgotten {
    pub tree: Option<PathBuf>,
    /// References to what is nowhere else.
    pub kept: Vec<String>,
}

/// Lets go of a task whose work is merged: whoever makes a task of its name begins anew. What attempts have left that is
/// nowhere else stays under its reference.
pub fn forget(site: &Site, name: &str) -> Result<Forgotten, TreeError> {
    if !is_ours(site, name)? {
        return Ok(Forgotten::default());
    }
    let branch = names::branch(name);
    if let Some(path) = accept::holder(&site.root, &branch)? {
        return Err(TreeError::Held { branch: format!("ralph/{name}"), path });
    }
    let tree = find(site, name)?.map(|tree| tree.path);
    if let Removal::Kept(why) = remove(site, name)? {
        return Err(TreeError::Stays { name: name.to_owned(), why });
    }
    let base = recorded(site, name)?.unwrap_or_default();
    let known: BTreeSet<String> = git::trees_since(&site.root, &base)?.into_iter().collect();
    let mut all = git::refs_below(&site.root, &names::all(name))?;
    all.extend(git::refs_below(&site.root, &branch)?);
    let mut forgotten = Forgotten { tree, kept: Vec::new() };
    let mut drops = Vec::new();
    for found in all {
        if is_elsewhere(site, &found, &known)? {
            drops.push(RefChange::Drop { name: found.name });
        } else {
            forgotten.kept.push(found.name);
        }
    }
    git::change_refs(&site.root, &drops, "ralph: the task is forgotten")?;
    Ok(forgotten)
}

/// Tells whether a task of this project has something here. One of another project that shares the repository may.
fn is_ours(site: &Site, name: &str) -> Result<bool, TreeError> {
    match recorded(site, name) {
        Ok(base) => Ok(base.is_some()),
        Err(TreeError::Elsewhere { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_merged(site: &Site, commit: &str) -> Result<bool, TreeError> {
    match git::head(&site.root)? {
        Some(head) => Ok(git::is_ancestor(&site.root, commit, &head)?),
        None => Ok(false),
    }
}

/// Tells whether the user's branch has a commit, or at least its files and what it stands on: a snapshot is a commit of its own.
fn is_elsewhere(site: &Site, found: &FoundRef, known: &BTreeSet<String>) -> Result<bool, TreeError> {
    if is_merged(site, &found.commit)? {
        return Ok(true);
    }
    let at = |what: &str| git::object_at(&site.root, &format!("{}^{what}", found.commit));
    let (Some(tree), Some(stood_on)) = (at("{tree}")?, at("")?) else { return Ok(false) };
    Ok(known.contains(&tree) && is_merged(site, &stood_on)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::git;
    use crate::tree::testing::Scene;
    use crate::tree::{Mark, Tree, snapshot};

    fn refs(scene: &Scene) -> String {
        scene.git(&["for-each-ref", "--format=%(refname)", "refs/ralph", "refs/heads/ralph"])
    }

    fn attempt(scene: &Scene, tree: &Tree, iteration: u32) {
        let mark = Mark { stage: "coder".to_owned(), iteration, attempt: 1 };
        snapshot(&scene.site, tree, &mark).unwrap();
    }

    // spec: P6
    #[test]
    fn of_a_task_whose_work_is_merged_nothing_is_left_and_its_name_is_free() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("file"), "new").unwrap();
        attempt(&scene, &tree, 1);
        let accepted = scene.accepted(&tree, "file", "new");
        scene.git(&["merge", "--quiet", "ralph/T"]);
        assert_eq!(unmerged(&scene.site, "T").unwrap(), Vec::<String>::new());
        let forgotten = forget(&scene.site, "T").unwrap();
        assert_eq!(forgotten, Forgotten { tree: Some(tree.path.clone()), kept: Vec::new() });
        assert_eq!((refs(&scene), tree.path.exists()), (String::new(), false));
        assert_eq!(scene.tree("T").base, accepted, "another task of that name begins anew");
    }

    // spec: P6
    #[test]
    fn work_that_is_not_merged_is_named_and_a_snapshot_of_it_outlives_the_task() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("half"), "tried").unwrap();
        attempt(&scene, &tree, 1);
        let left = |words: &str| {
            let left = unmerged(&scene.site, "T").unwrap();
            assert!(left.len() == 1 && left[0].contains(words), "{left:?}");
        };
        left("half in it is not committed");
        assert!(matches!(forget(&scene.site, "T"), Err(TreeError::Stays { .. })));
        assert!(tree.path.join("half").exists());
        fs::remove_file(tree.path.join("half")).unwrap();
        let forgotten = forget(&scene.site, "T").unwrap();
        assert_eq!(forgotten.kept, ["refs/ralph/T/coder/1/1"]);
        assert_eq!(refs(&scene), "refs/ralph/T/coder/1/1");
        assert_eq!(scene.git(&["show", "refs/ralph/T/coder/1/1:half"]), "tried");
    }

    // spec: P6
    #[test]
    fn accepted_work_and_commits_of_your_own_on_its_branch_are_named() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        scene.accepted(&tree, "file", "new");
        let words = unmerged(&scene.site, "T").unwrap();
        assert_eq!(words.len(), 2, "{words:?}");
        git(&tree.path, &["checkout", "--quiet", "--detach", &tree.base]).unwrap();
        let words = unmerged(&scene.site, "T").unwrap();
        assert_eq!(words, ["the branch ralph/T: it has commits that are not merged"]);
    }

    // spec: P6
    #[test]
    fn a_branch_that_somebody_stands_on_and_the_task_of_another_project_stay() {
        let scene = Scene::new();
        scene.tree("T");
        scene.git(&["checkout", "--quiet", "ralph/T"]);
        let before = refs(&scene);
        assert!(matches!(forget(&scene.site, "T"), Err(TreeError::Held { .. })));
        let other = Site { folder: scene.site.folder.with_file_name("other-12345678"), ..scene.site.clone() };
        assert_eq!(forget(&other, "T").unwrap(), Forgotten::default());
        assert_eq!(refs(&scene), before);
    }
}
