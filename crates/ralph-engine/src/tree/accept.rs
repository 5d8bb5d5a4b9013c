//! Work that was verified becomes the accepted work of its task.
use std::path::{Path, PathBuf};

use super::snapshot::{hold_on, next_number};
use super::{Site, Tree, TreeError, names};
use crate::git::{self, Author, NewCommit, RefChange, Was};

/// What became of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    pub commit: String,
    /// Where somebody has checked out the branch: it is not moved under their feet, and follows later.
    pub held_by: Option<PathBuf>,
}

/// Returns the accepted work of a task, if it has some.
pub fn accepted(site: &Site, name: &str) -> Result<Option<String>, TreeError> {
    Ok(git::commit_at(&site.root, &names::accepted(name))?)
}

/// Where a task stands before its work is accepted. Who has read this and then found the task still its own, moves on from
/// here or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    accepted: String,
    head: String,
}

/// Reads where a task stands.
pub fn standing(site: &Site, tree: &Tree) -> Result<Standing, TreeError> {
    let accepted =
        accepted(site, &tree.name)?.ok_or_else(|| TreeError::NothingAccepted { name: tree.name.clone() })?;
    Ok(Standing { accepted, head: git::head(&tree.path)?.ok_or(TreeError::Unborn)? })
}

/// Moves the branch of a task on to what was verified in its tree: the files of `verified`, which is a tree or a commit, or
/// else everything that lies there. What of it is not committed becomes a commit first. Where somebody else has moved
/// anything meanwhile, nothing is.
pub fn accept(
    site: &Site,
    tree: &Tree,
    from: &Standing,
    stage: &str,
    verified: Option<&str>,
) -> Result<Accepted, TreeError> {
    let why = format!("ralph: {stage} accepted");
    let before = &from.accepted;
    // An agent may have gone to a branch; the tree stands for itself.
    git::move_head(&tree.path, (&from.head, &from.head), &why)?;
    let commit = committed(tree, from, stage, verified)?;
    let branch = names::branch(&tree.name);
    let held_by = holder(&site.root, &branch)?;
    let mut moves = vec![RefChange::moved(names::accepted(&tree.name), before, &commit)];
    if commit != *before {
        moves.push(RefChange::new(next_number(site, &names::acceptances(&tree.name))?, &commit));
    }
    if held_by.is_none() {
        moves.push(branch_move(site, tree, (before, &commit))?);
    }
    git::change_refs(&site.root, &moves, &why)?;
    if commit != from.head {
        git::move_head(&tree.path, (&from.head, &commit), &why)?;
        git::change_index(&tree.path, &commit)?;
    }
    Ok(Accepted { commit, held_by })
}

/// Returns the commit that holds exactly what was verified. Nothing stands on it yet.
fn committed(tree: &Tree, from: &Standing, stage: &str, verified: Option<&str>) -> Result<String, TreeError> {
    let message = format!("ralph: {} {stage}, what was not committed", tree.name);
    let holds = match verified {
        Some(verified) => verified.to_owned(),
        None => git::keep(&tree.path, &message)?.commit,
    };
    let same = |commit: &str| git::same_tree(&tree.path, commit, &holds);
    let follows = git::is_ancestor(&tree.path, &from.accepted, &from.head)?;
    // An agent that rewrote its history has rewritten nothing of what was accepted: its files come after that. One who
    // accepted them may have been cut short before the tree stood on them.
    let on = if follows { &from.head } else { &from.accepted };
    match same(on)? {
        Some(true) => return Ok(on.clone()),
        Some(false) => {}
        None => return Err(TreeError::NotKept { tree: holds }),
    }
    let new = NewCommit { tree: &holds, parents: &[on], message: &message };
    Ok(git::commit_tree(&tree.path, &new, Author::User)?)
}

/// Moves the branch, wherever between what was accepted before and now it is: an agent may have been on it. One that somebody
/// removed is made again, and one that somebody moved away is left alone.
fn branch_move(site: &Site, tree: &Tree, (before, now): (&str, &str)) -> Result<RefChange, TreeError> {
    let branch = names::branch(&tree.name);
    let was = match git::commit_at(&site.root, &branch)? {
        None => Was::Nothing,
        Some(at) if git::is_ancestor(&site.root, &at, now)? => Was::At(at),
        Some(is) => {
            return Err(TreeError::Moved { branch: tree.branch(), is, was: before.to_owned() });
        }
    };
    Ok(RefChange::Put { name: branch, to: now.to_owned(), was })
}

/// Returns the work tree that a branch is checked out in.
pub(super) fn holder(root: &Path, branch: &str) -> Result<Option<PathBuf>, TreeError> {
    let all = git::linked(root)?;
    Ok(all.into_iter().find(|linked| linked.branch.as_deref() == Some(branch)).map(|linked| linked.path))
}

/// Lets the branch of a task follow what was accepted, where nobody holds it any more.
pub(super) fn follow(site: &Site, name: &str) -> Result<(), TreeError> {
    let branch = names::branch(name);
    let Some(accepted) = accepted(site, name)? else { return Ok(()) };
    let was = match git::commit_at(&site.root, &branch)? {
        Some(at) if at == accepted => return Ok(()),
        Some(at) => Was::At(at),
        None => Was::Nothing,
    };
    if holder(&site.root, &branch)?.is_some() {
        return Ok(());
    }
    let change = [RefChange::Put { name: branch, to: accepted, was }];
    Ok(git::change_refs(&site.root, &change, "ralph: the branch follows")?)
}

/// Takes the accepted work of a task back to the newest that a commit has. Where it was is kept.
pub(super) fn take_back(site: &Site, tree: &Tree, to: &str) -> Result<Option<String>, TreeError> {
    let name = &tree.name;
    let Some(was) = accepted(site, name)? else { return Ok(None) };
    if git::is_ancestor(&site.root, &was, to)? {
        return Ok(None);
    }
    let branch = names::branch(name);
    if let Some(path) = holder(&site.root, &branch)? {
        return Err(TreeError::Held { branch: tree.branch(), path });
    }
    let earlier = accepted_in(site, tree, to)?;
    let branch = RefChange::Put { to: earlier.clone(), was: own_tip(site, tree, &was)?, name: branch };
    let kept = hold_on(site, name, "before-rewind-accepted", &was)?;
    let changes = [RefChange::moved(names::accepted(name), &was, &earlier), branch];
    git::change_refs(&site.root, &changes, "ralph: rewound")?;
    Ok(Some(kept))
}

/// Returns the newest accepted commit that this one follows; where there is none, the one that the work began at.
fn accepted_in(site: &Site, tree: &Tree, commit: &str) -> Result<String, TreeError> {
    let mut newest = tree.base.clone();
    for found in git::refs_below(&site.root, &names::acceptances(&tree.name))? {
        let is_behind = git::is_ancestor(&site.root, &found.commit, commit)?;
        if is_behind && git::is_ancestor(&site.root, &newest, &found.commit)? {
            newest = found.commit;
        }
    }
    Ok(newest)
}

/// Returns where the branch is, unless somebody has put commits on it that nobody else has.
fn own_tip(site: &Site, tree: &Tree, accepted: &str) -> Result<Was, TreeError> {
    match git::commit_at(&site.root, &names::branch(&tree.name))? {
        None => Ok(Was::Nothing),
        Some(at) if git::is_ancestor(&site.root, &at, accepted)? => Ok(Was::At(at)),
        Some(is) => Err(TreeError::Moved { branch: tree.branch(), is, was: accepted.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::git;
    use crate::git::testing::commit_all;
    use crate::tree::testing::Scene;
    use crate::tree::{Mark, snapshot};

    fn accept(site: &Site, tree: &Tree, stage: &str, verified: Option<&str>) -> Result<Accepted, TreeError> {
        super::accept(site, tree, &standing(site, tree)?, stage, verified)
    }

    /// Returns everything that accepting may move.
    fn places(scene: &Scene, tree: &Tree) -> [String; 4] {
        let staged = git(&tree.path, &["ls-files", "--stage"]).unwrap();
        let head = git(&tree.path, &["rev-parse", "HEAD"]).unwrap();
        [head, staged, scene.git(&["rev-parse", "ralph/T"]), accepted(&scene.site, "T").unwrap().unwrap()]
    }

    // spec: P6
    // fault: 94
    #[test]
    fn whoever_was_thrown_out_meanwhile_moves_nothing() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("file"), "mine").unwrap();
        let mark = Mark { stage: "coder".to_owned(), iteration: 1, attempt: 1 };
        let mine = snapshot(&scene.site, &tree, &mark).unwrap().commit;
        let read = standing(&scene.site, &tree).unwrap();
        accept(&scene.site, &tree, "coder", Some(&mine)).unwrap();
        scene.accepted(&tree, "file", "of the next stage");
        let before = places(&scene, &tree);
        super::accept(&scene.site, &tree, &read, "coder", Some(&mine)).unwrap_err();
        assert_eq!(places(&scene, &tree), before);
    }

    // spec: P6
    #[test]
    fn what_was_accepted_and_then_cut_short_is_finished_by_the_next_one() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        let head = git::head(&tree.path).unwrap().unwrap();
        fs::write(tree.path.join("file"), "new").unwrap();
        let done = accept(&scene.site, &tree, "coder", None).unwrap();
        let after = places(&scene, &tree);
        git::detach_at(&tree.path, &head, "cut short").unwrap();
        git::change_index(&tree.path, &head).unwrap();
        assert_eq!(accept(&scene.site, &tree, "coder", Some(&done.commit)).unwrap(), done);
        assert_eq!(places(&scene, &tree), after);
    }

    // spec: P6
    #[test]
    fn only_accepted_commits_move_the_branch() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        let at = || scene.git(&["rev-parse", "ralph/T"]);
        fs::write(tree.path.join("file"), "work").unwrap();
        let commit = commit_all(&tree.path);
        assert_eq!(at(), tree.base);
        let done = accept(&scene.site, &tree, "coder", None).unwrap();
        assert_eq!(
            (done.commit.as_str(), at().as_str(), done.held_by),
            (commit.as_str(), commit.as_str(), None)
        );
    }

    // spec: P6
    #[test]
    fn what_was_verified_and_not_committed_is_committed_and_by_products_are_not() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("new"), "work").unwrap();
        let mark = Mark { stage: "coder".to_owned(), iteration: 1, attempt: 1 };
        let verified = snapshot(&scene.site, &tree, &mark).unwrap().commit;
        fs::write(tree.path.join("by-product"), "of a check").unwrap();
        let tree_id = scene.git(&["rev-parse", &format!("{verified}^{{tree}}")]);
        let done = accept(&scene.site, &tree, "coder", Some(&tree_id)).unwrap();
        let said = scene.git(&["log", "-1", "--format=%s %T", "ralph/T"]);
        assert_eq!(said, format!("ralph: T coder, what was not committed {tree_id}"));
        assert_eq!(git::head(&tree.path).unwrap(), Some(done.commit));
        assert_eq!(git(&tree.path, &["status", "--porcelain"]).unwrap(), "?? by-product\n");
        let gone = accept(&scene.site, &tree, "coder", Some(&"1".repeat(40))).unwrap_err();
        assert!(matches!(gone, TreeError::NotKept { .. }), "{gone}");
    }

    // spec: P6
    #[test]
    fn an_agent_that_went_to_the_branch_itself_does_no_harm() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        git(&tree.path, &["checkout", "--quiet", "ralph/T"]).unwrap();
        fs::write(tree.path.join("file"), "work").unwrap();
        let commit = commit_all(&tree.path);
        let done = accept(&scene.site, &tree, "coder", None).unwrap();
        assert_eq!((done.commit, done.held_by), (commit, None));
        assert_eq!(git::branch_of(&tree.path).unwrap(), None);
    }

    // spec: P6
    #[test]
    fn a_branch_that_somebody_holds_moved_or_removed_is_respected() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        let branch = scene.git(&["branch", "--show-current"]);
        scene.git(&["checkout", "--quiet", "ralph/T"]);
        let before = scene.users();
        fs::write(tree.path.join("file"), "one").unwrap();
        let one = commit_all(&tree.path);
        let held = accept(&scene.site, &tree, "coder", None).unwrap();
        assert_eq!(
            (held.commit.as_str(), held.held_by.as_deref()),
            (one.as_str(), Some(scene.root.as_path()))
        );
        assert_eq!(scene.users(), before);
        scene.git(&["checkout", "--quiet", &branch]);
        scene.git(&["branch", "--quiet", "-D", "ralph/T"]);
        let two = scene.accepted(&tree, "file", "two");
        assert_eq!(scene.git(&["rev-parse", "ralph/T"]), two);
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        let other = scene.git(&[&identity[..], &["commit-tree", "HEAD^{tree}", "-m", "other"]].concat());
        scene.git(&["branch", "--force", "ralph/T", &other]);
        fs::write(tree.path.join("file"), "three").unwrap();
        commit_all(&tree.path);
        let moved = accept(&scene.site, &tree, "coder", None).unwrap_err();
        assert!(matches!(moved, TreeError::Moved { .. }), "{moved}");
        assert_eq!(scene.git(&["rev-parse", "ralph/T"]), other);
    }

    // spec: P6
    #[test]
    fn verified_files_whose_history_was_rewritten_follow_what_was_accepted_all_the_same() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        let accepted = scene.accepted(&tree, "file", "one");
        git(&tree.path, &["reset", "--quiet", "--hard", &tree.base]).unwrap();
        fs::write(tree.path.join("file"), "two").unwrap();
        let head = commit_all(&tree.path);
        let done = accept(&scene.site, &tree, "coder", None).unwrap();
        assert_ne!(done.commit, head);
        assert_eq!(scene.git(&["rev-parse", "ralph/T", "ralph/T^"]), format!("{}\n{accepted}", done.commit));
        assert_eq!(scene.git(&["show", "ralph/T:file"]), "two");
        assert_eq!(git(&tree.path, &["status", "--porcelain"]).unwrap(), "");
    }
}
