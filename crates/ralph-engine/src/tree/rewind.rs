//! A tree goes back to what it held after an earlier attempt. What it holds now is kept first.
use super::obstacle::obstacles;
use super::snapshot::hold_on;
use super::{Site, Snapshot, Tree, TreeError, accept};
use crate::git;
use ralph_util::fail::{self, Point};

/// What was kept before the tree went back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewound {
    /// The reference to what lay there.
    pub kept: String,
    /// The reference to what was accepted, where that went back too.
    pub accepted: Option<String>,
}

/// Puts HEAD and files of a tree back to a snapshot. What was not committed then is not committed again.
pub fn rewind(site: &Site, tree: &Tree, to: &Snapshot) -> Result<Rewound, TreeError> {
    let path = &tree.path;
    let now = git::keep(path, &format!("ralph: {} before it went back to {}", tree.name, to.mark))?.commit;
    let kept = hold_on(site, &tree.name, "before-rewind", &now)?;
    fail::point(Point::RewindKept);
    let gone = || TreeError::NoSnapshot { name: tree.name.clone(), wanted: to.mark.to_string() };
    let head = git::commit_at(path, &format!("{}^", to.commit))?.ok_or_else(gone)?;
    let files = obstacles(path, &git::changes(path, &now, &to.commit)?);
    if !files.is_empty() {
        return Err(TreeError::Dirty { name: tree.name.clone(), files });
    }
    let accepted = accept::take_back(site, tree, &head)?;
    git::change_index(path, &now)?;
    git::change_files(path, &now, &to.commit)?;
    fail::point(Point::RewindFilesMoved);
    git::detach_at(path, &head, &format!("ralph rewind {} {}", tree.name, to.mark))?;
    git::change_index(path, &head)?;
    Ok(Rewound { kept, accepted })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::git;
    use crate::git::testing::commit_all;
    use crate::tree::testing::Scene;
    use crate::tree::{Mark, snapshot, snapshots};

    fn took(scene: &Scene, tree: &Tree, iteration: u32) -> Snapshot {
        let mark = Mark { stage: "coder".to_owned(), iteration, attempt: 1 };
        snapshot(&scene.site, tree, &mark).unwrap();
        snapshots(&scene.site, "T").unwrap().into_iter().find(|one| one.mark == mark).unwrap()
    }

    fn shown(tree: &Tree) -> (String, String) {
        let status = git(&tree.path, &["status", "--porcelain"]).unwrap();
        (status, fs::read_to_string(tree.path.join("file")).unwrap())
    }

    // spec: P7
    #[test]
    fn head_and_files_go_back_and_nothing_that_was_there_is_lost() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("file"), "one").unwrap();
        fs::write(tree.path.join("new"), "uncommitted").unwrap();
        fs::write(tree.path.join("out"), "ignored").unwrap();
        let first = took(&scene, &tree, 1);
        fs::remove_file(tree.path.join("new")).unwrap();
        fs::write(tree.path.join("file"), "two").unwrap();
        commit_all(&tree.path);
        fs::write(tree.path.join("later"), "also uncommitted").unwrap();
        git(&tree.path, &["update-index", "--assume-unchanged", "file"]).unwrap();
        fs::write(tree.path.join("file"), "hidden").unwrap();
        let rewound = rewind(&scene.site, &tree, &first).unwrap();
        assert_eq!(git::head(&tree.path).unwrap(), Some(tree.base.clone()));
        assert_eq!(shown(&tree), (" M file\n?? new\n".to_owned(), "one".to_owned()));
        assert_eq!(fs::read_to_string(tree.path.join("out")).unwrap(), "ignored");
        assert_eq!(rewound.kept, "refs/ralph/T/_before-rewind/1");
        let kept = |name: &str| scene.git(&["show", &format!("{}:{name}", rewound.kept)]);
        assert_eq!((kept("later"), kept("file")), ("also uncommitted".into(), "hidden".into()));
    }

    // spec: P7
    #[test]
    fn accepted_work_that_is_undone_goes_back_too_and_is_kept() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        let first = took(&scene, &tree, 1);
        let accepted = scene.accepted(&tree, "file", "two");
        let rewound = rewind(&scene.site, &tree, &first).unwrap();
        assert_eq!(scene.git(&["rev-parse", "ralph/T"]), tree.base);
        assert_eq!(scene.git(&["rev-parse", &rewound.accepted.unwrap()]), accepted);
        scene.accepted(&tree, "file", "another way");
    }

    // spec: P6, P7
    #[test]
    fn the_branch_goes_back_to_what_was_accepted_and_never_to_what_was_not() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        let accepted = scene.accepted(&tree, "file", "one");
        fs::write(tree.path.join("file"), "half").unwrap();
        commit_all(&tree.path);
        let half = took(&scene, &tree, 1);
        scene.accepted(&tree, "file", "two");
        rewind(&scene.site, &tree, &half).unwrap();
        assert_eq!(scene.git(&["rev-parse", "ralph/T"]), accepted);
        scene.accepted(&tree, "file", "another way");
    }

    // spec: P6, P7
    #[test]
    fn somebody_s_own_commit_on_the_branch_keeps_the_tree_where_it_is() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        let first = took(&scene, &tree, 1);
        let accepted = scene.accepted(&tree, "file", "two");
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        let commit = ["commit-tree", "HEAD^{tree}", "-p", &accepted, "-m", "mine"];
        let mine = scene.git(&[&identity[..], &commit].concat());
        scene.git(&["branch", "--force", "ralph/T", &mine]);
        let refused = rewind(&scene.site, &tree, &first).unwrap_err();
        assert!(matches!(refused, TreeError::Moved { .. }), "{refused}");
        assert_eq!(scene.git(&["rev-parse", "ralph/T"]), mine);
        assert_eq!(shown(&tree), (String::new(), "two".to_owned()));
    }

    // spec: P7
    #[test]
    fn an_ignored_file_in_the_way_of_a_snapshot_is_not_written_over() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("later"), "old").unwrap();
        let first = took(&scene, &tree, 1);
        fs::write(tree.path.join("later"), "precious").unwrap();
        fs::write(tree.path.join(".gitignore"), "later\n").unwrap();
        let refused = rewind(&scene.site, &tree, &first).unwrap_err();
        assert!(matches!(refused, TreeError::Dirty { .. }), "{refused}");
        assert_eq!(fs::read_to_string(tree.path.join("later")).unwrap(), "precious");
    }
}
