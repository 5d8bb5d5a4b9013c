//! A tree is made, or opened where it is there already. Whatever cut an earlier attempt short, the next one goes on.
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Site, Tree, TreeError, names};
use crate::fail::{self, Point};
use crate::git::{self, Author, Linked, Merge, NewCommit, RefChange};
use crate::project::HOME_OF_TREE;

/// How a tree came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    New,
    Found,
    /// Somebody had removed its folder: it stands again on the commit that it stood on.
    Again,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub tree: Tree,
    pub how: How,
}

/// Makes the tree of a task from the commit that the user's work tree stands on and the accepted work of the tasks that it
/// comes after, or opens it where it is there.
pub fn make(site: &Site, name: &str, after: &[String]) -> Result<Made, TreeError> {
    match recorded(site, name)? {
        Some(base) => reopen(site, name, base),
        None => begin(site, name, after),
    }
}

/// Finds the tree of a task, as it is.
pub fn find(site: &Site, name: &str) -> Result<Option<Tree>, TreeError> {
    let Some(base) = recorded(site, name)? else { return Ok(None) };
    let found = registered(site, name)?.filter(|linked| linked.path.is_dir());
    let Some(linked) = found else { return Ok(None) };
    usable(site, &linked.path)?;
    Ok(Some(Tree { name: name.to_owned(), path: linked.path, base }))
}

/// Returns where the work on a task began, if it has begun.
fn recorded(site: &Site, name: &str) -> Result<Option<String>, TreeError> {
    let own = names::base(name, &site.key());
    let all = git::refs_below(&site.root, &names::bases(name))?;
    match all.iter().find(|found| found.name == own).or(all.first()) {
        None => Ok(None),
        Some(found) if found.name == own => Ok(Some(found.commit.clone())),
        Some(other) => {
            let key = other.name.strip_prefix(&names::bases(name)).unwrap_or_default().to_owned();
            Err(TreeError::Elsewhere { name: name.to_owned(), key })
        }
    }
}

/// Records first where the work begins. From then on a crash leaves something that can be finished.
fn begin(site: &Site, name: &str, after: &[String]) -> Result<Made, TreeError> {
    let branch = names::branch(name);
    if git::commit_at(&site.root, &branch)?.is_some() {
        return Err(TreeError::BranchTaken { branch: format!("ralph/{name}") });
    }
    refuse_obstacle(name, &site.path(name))?;
    let base = base(site, name, after)?;
    let records = [branch, names::base(name, &site.key()), names::accepted(name)];
    let records = records.map(|reference| RefChange::new(reference, &base));
    git::change_refs(&site.root, &records, "ralph: the work begins here")?;
    fail::point(Point::TreeRecorded);
    let tree = Tree { name: name.to_owned(), path: site.path(name), base: base.clone() };
    grow(site, &tree, &base)?;
    Ok(Made { tree, how: How::New })
}

/// Puts together what the work begins with.
fn base(site: &Site, name: &str, after: &[String]) -> Result<String, TreeError> {
    let root = &site.root;
    let mut base = git::head(root)?.ok_or(TreeError::Unborn)?;
    for dependency in after {
        let Some(accepted) = git::commit_at(root, &names::accepted(dependency))? else { continue };
        if git::is_ancestor(root, &accepted, &base)? {
            continue;
        }
        if git::is_ancestor(root, &base, &accepted)? {
            base = accepted;
            continue;
        }
        let tree = match git::merge(root, &base, &accepted)? {
            Merge::Clean { tree } => tree,
            Merge::Conflict { files } => {
                let (name, dependency) = (name.to_owned(), dependency.clone());
                return Err(TreeError::Dependencies { name, dependency, files });
            }
        };
        let message = format!("Merge {dependency} into the work on {name}");
        let new = NewCommit { tree: &tree, parents: &[&base, &accepted], message: &message };
        base = git::commit_tree(root, &new, Author::User)?;
    }
    Ok(base)
}

/// Opens what was made before, and finishes it where that was cut short.
fn reopen(site: &Site, name: &str, base: String) -> Result<Made, TreeError> {
    let Some(linked) = registered(site, name)? else { return resume(site, name, base) };
    let tree = Tree { name: name.to_owned(), path: linked.path.clone(), base };
    if !linked.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        let head = linked.head.clone().unwrap_or_else(|| tree.base.clone());
        // The list of work trees is all that leads to it, and is about to be written anew.
        super::snapshot::hold_on(site, name, "kept", &head)?;
        refuse_obstacle(name, &linked.path)?;
        grow(site, &tree, &head)?;
        return Ok(Made { tree, how: How::Again });
    }
    usable(site, &linked.path)?;
    Ok(Made { tree, how: How::Found })
}

/// Goes on where a ralph died that was making a tree, or where somebody took the tree out of git's list.
fn resume(site: &Site, name: &str, base: String) -> Result<Made, TreeError> {
    let path = site.path(name);
    let at = git::commit_at(&site.root, &names::accepted(name))?.unwrap_or_else(|| base.clone());
    let tree = Tree { name: name.to_owned(), path: path.clone(), base };
    let listed = git::linked(&site.root)?.into_iter().find(|linked| is_same(&linked.path, &path));
    if listed.is_some() && path.join(".git").is_file() {
        // It was never handed to anybody: what lies in it is the beginning of a checkout.
        git::finish_linked(&path, &at)?;
        secure(site, &tree)?;
    } else {
        clear(name, &path)?;
        grow(site, &tree, &at)?;
    }
    Ok(Made { tree, how: How::New })
}

fn grow(site: &Site, tree: &Tree, at: &str) -> Result<(), TreeError> {
    site.prepare()?;
    git::add_linked(&site.root, &tree.path, at)?;
    fail::point(Point::TreeAdded);
    secure(site, tree)
}

/// Says whose the tree is and that it is whole, and keeps git from removing it.
fn secure(site: &Site, tree: &Tree) -> Result<(), TreeError> {
    belong(site, &tree.path)?;
    Ok(git::lock_linked(&site.root, &tree.path, &names::reason(&tree.name, &site.key()))?)
}

/// Lets every ralph that is started in the tree find the files of its project.
fn belong(site: &Site, path: &Path) -> Result<(), TreeError> {
    let file = git::own_file(path, HOME_OF_TREE)?;
    fs::write(&file, site.home.as_os_str().as_bytes())
        .map_err(|source| TreeError::Folder { path: file, source })
}

fn registered(site: &Site, name: &str) -> Result<Option<Linked>, TreeError> {
    let reason = names::reason(name, &site.key());
    Ok(git::linked(&site.root)?.into_iter().find(|linked| linked.locked.as_ref() == Some(&reason)))
}

/// Sees that a folder is a work tree of this repository. Where one of both was moved, they find each other again.
fn usable(site: &Site, path: &Path) -> Result<(), TreeError> {
    let ours = git::repository_of(&site.root)?;
    let leads_nowhere = || {
        let text = fs::read_to_string(path.join(".git")).unwrap_or_default();
        let named = text.strip_prefix("gitdir: ").map(|named| path.join(named.trim_end()));
        named.is_some_and(|named| !named.exists())
    };
    if leads_nowhere() {
        git::reconnect_linked(&site.root, path)?;
        belong(site, path)?;
    }
    let repository = git::repository_of(path)?;
    if is_same(&repository, &ours) {
        return Ok(());
    }
    Err(TreeError::Foreign { path: path.to_path_buf(), repository })
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    one == other || real(one) == real(other)
}

fn refuse_obstacle(name: &str, path: &Path) -> Result<(), TreeError> {
    let is_free = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if path.symlink_metadata().is_err() || is_free() {
        return Ok(());
    }
    Err(TreeError::InTheWay { name: name.to_owned(), path: path.to_path_buf() })
}

/// Makes room where git had made a folder and nothing in it but its own mark.
fn clear(name: &str, path: &Path) -> Result<(), TreeError> {
    let entries: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
    if let [only] = entries.as_slice()
        && only.file_name().is_some_and(|name| name == ".git")
        && only.is_file()
    {
        fs::remove_file(only).map_err(|source| TreeError::Folder { path: only.clone(), source })?;
    }
    refuse_obstacle(name, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::git;
    use crate::git::testing::{commit_all, repository};
    use crate::tree::testing::Scene;

    fn head(path: &Path) -> String {
        git::head(path).unwrap().unwrap()
    }

    // spec: P6
    #[test]
    fn a_tree_is_made_once_detached_and_opened_afterwards() {
        let scene = Scene::new();
        let first = make(&scene.site, "TASK-1", &[]).unwrap();
        assert_eq!((first.how, first.tree.base.clone()), (How::New, head(&scene.root)));
        let path = &first.tree.path;
        assert!(path.ends_with("trees/project-1234abcd/TASK-1") && !path.starts_with(&scene.root));
        assert_eq!(git::branch_of(path).unwrap(), None, "nothing that the agent commits moves a branch");
        assert_eq!(scene.git(&["rev-parse", "ralph/TASK-1"]), first.tree.base);
        fs::write(path.join("file"), "work").unwrap();
        let again = make(&scene.site, "TASK-1", &[]).unwrap();
        assert_eq!((again.how, &again.tree), (How::Found, &first.tree));
        assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "work");
        assert_eq!(find(&scene.site, "TASK-1").unwrap(), Some(again.tree));
        assert_eq!(find(&scene.site, "TASK-2").unwrap(), None);
    }

    // spec: P6
    #[test]
    fn a_tree_begins_with_the_accepted_work_of_what_it_comes_after() {
        let scene = Scene::new();
        let (one, two) = (scene.tree("ONE"), scene.tree("TWO"));
        scene.accepted(&one, "one", "1");
        scene.accepted(&two, "two", "2");
        fs::write(two.path.join("unaccepted"), "").unwrap();
        commit_all(&two.path);
        let after = ["ONE", "TWO", "NEVER-WORKED-ON"].map(str::to_owned);
        let tree = make(&scene.site, "THREE", &after).unwrap().tree;
        assert!(tree.path.join("one").is_file() && tree.path.join("two").is_file());
        assert!(!tree.path.join("unaccepted").exists());
        assert_eq!(
            (head(&tree.path), scene.git(&["rev-parse", "ralph/THREE"])),
            (tree.base.clone(), tree.base)
        );
    }

    // spec: P6
    #[test]
    fn dependencies_that_conflict_are_named_with_their_files_and_nothing_is_left() {
        let scene = Scene::new();
        for name in ["ONE", "TWO"] {
            let tree = scene.tree(name);
            scene.accepted(&tree, "file", name);
        }
        let before = (scene.users(), scene.git(&["for-each-ref"]));
        let refused = make(&scene.site, "THREE", &["ONE".to_owned(), "TWO".to_owned()]).unwrap_err();
        let TreeError::Dependencies { dependency, files, .. } = &refused else { panic!("{refused}") };
        assert_eq!((dependency.as_str(), files.as_slice()), ("TWO", &[PathBuf::from("file")][..]));
        assert_eq!((scene.users(), scene.git(&["for-each-ref"])), before);
        assert!(!scene.site.path("THREE").exists());
    }

    // spec: P6
    #[test]
    fn a_repository_without_a_commit_has_no_trees() {
        let (temp, root) = repository();
        let scene = Scene::at(temp, root);
        assert!(matches!(make(&scene.site, "T", &[]), Err(TreeError::Unborn)));
    }

    // spec: P6
    #[test]
    fn what_ralph_did_not_make_is_never_taken_for_its_own() {
        let scene = Scene::new();
        scene.git(&["branch", "ralph/A"]);
        assert!(matches!(make(&scene.site, "A", &[]), Err(TreeError::BranchTaken { .. })));
        fs::create_dir_all(scene.site.path("B")).unwrap();
        fs::write(scene.site.path("B").join("mine"), "").unwrap();
        assert!(matches!(make(&scene.site, "B", &[]), Err(TreeError::InTheWay { .. })));
        assert!(scene.site.path("B").join("mine").exists());
        scene.tree("C");
        let other = Site { folder: scene.site.folder.with_file_name("other-00000000"), ..scene.site.clone() };
        let refused = make(&other, "C", &[]).unwrap_err();
        assert!(
            matches!(&refused, TreeError::Elsewhere { key, .. } if key == "project-1234abcd"),
            "{refused}"
        );
    }

    // spec: P6
    #[test]
    fn a_tree_whose_folder_somebody_removed_stands_again_where_it_stood() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("file"), "not accepted").unwrap();
        let commit = commit_all(&tree.path);
        fs::remove_dir_all(&tree.path).unwrap();
        scene.git(&["worktree", "prune"]);
        let again = make(&scene.site, "T", &[]).unwrap();
        assert_eq!((again.how, head(&again.tree.path)), (How::Again, commit.clone()));
        assert_eq!(scene.git(&["rev-parse", "refs/ralph/T/_kept/1"]), commit);
    }

    // spec: P6
    #[test]
    fn a_tree_that_somebody_took_out_of_gits_list_is_made_again_from_what_was_accepted() {
        let scene = Scene::new();
        let tree = scene.tree("T");
        let commit = scene.accepted(&tree, "file", "done");
        scene.git(&["worktree", "remove", "--force", "--force", tree.path.to_str().unwrap()]);
        let again = make(&scene.site, "T", &[]).unwrap();
        assert_eq!((head(&again.tree.path), again.tree.base), (commit, tree.base));
    }

    // spec: P6
    #[test]
    fn a_making_that_was_cut_short_is_finished_wherever_it_was() {
        let scene = Scene::new();
        let base = head(&scene.root);
        let record = |name: &str| {
            let names = [names::branch(name), names::base(name, "project-1234abcd"), names::accepted(name)];
            let all = names.map(|name| RefChange::new(name, &base));
            git::change_refs(&scene.root, &all, "test").unwrap();
        };
        let whole = |name: &str| {
            let made = make(&scene.site, name, &[]).unwrap();
            assert_eq!(fs::read_to_string(made.tree.path.join("file")).unwrap(), "first", "{name}");
            assert_eq!(git(&made.tree.path, &["status", "--porcelain"]).unwrap(), "", "{name}");
            assert_eq!(make(&scene.site, name, &[]).unwrap().how, How::Found);
        };
        // Before git was called.
        record("A");
        whole("A");
        // Git had made the folder and its mark, and its list knows nothing.
        record("B");
        fs::create_dir_all(scene.site.path("B")).unwrap();
        fs::write(scene.site.path("B/.git"), "gitdir: /nowhere\n").unwrap();
        whole("B");
        // Git was checking out: the index was being written, and some files were not there yet.
        record("C");
        let path = scene.site.path("C");
        git::add_linked(&scene.root, &path, &base).unwrap();
        let index = git::own_file(&path, "index").unwrap();
        fs::rename(&index, index.with_extension("lock")).unwrap();
        fs::remove_file(path.join("file")).unwrap();
        scene.git(&["worktree", "lock", "--reason", "initializing", path.to_str().unwrap()]);
        whole("C");
        // Git was done, and nobody had said so.
        record("D");
        git::add_linked(&scene.root, &scene.site.path("D"), &base).unwrap();
        whole("D");
    }

    // spec: P6
    #[test]
    fn a_project_that_was_moved_finds_its_trees_and_a_copy_of_it_takes_none_away() {
        let mut scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("new"), "work").unwrap();
        let copy = scene.root.with_file_name("copy");
        let copied = std::process::Command::new("cp").arg("-a").arg(&scene.root).arg(&copy).status();
        assert!(copied.unwrap().success());
        let of_copy = Site { root: copy, ..scene.site.clone() };
        assert!(matches!(make(&of_copy, "T", &[]), Err(TreeError::Foreign { .. })));
        let moved = scene.root.with_file_name("moved");
        fs::rename(&scene.root, &moved).unwrap();
        scene.site.root = moved;
        let again = make(&scene.site, "T", &[]).unwrap();
        assert_eq!((again.how, &again.tree.path), (How::Found, &tree.path));
        assert!(git(&tree.path, &["status", "--porcelain"]).unwrap().contains("new"));
    }

    // spec: P6
    #[test]
    fn neither_blanks_nor_newlines_nor_other_bytes_in_the_way_to_a_project_matter() {
        let (temp, root) = repository();
        let odd = root.with_file_name(std::ffi::OsStr::from_bytes(b"a b\nc\xff"));
        fs::rename(&root, &odd).unwrap();
        commit_all(&odd);
        let scene = Scene::at(temp, odd);
        let tree = scene.tree("T");
        assert_eq!(fs::read_to_string(tree.path.join("file")).unwrap(), "first");
        assert_eq!(make(&scene.site, "T", &[]).unwrap().how, How::Found);
    }

    // spec: P6
    #[test]
    fn a_project_that_is_itself_a_linked_work_tree_of_a_bare_repository_has_trees_too() {
        let (temp, root) = repository();
        commit_all(&root);
        let (bare, beside) = (root.with_file_name("bare.git"), root.with_file_name("beside"));
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        git(&root, &["clone", "--quiet", "--bare", &text(&root), &text(&bare)]).unwrap();
        git(&bare, &["worktree", "add", "--quiet", &text(&beside)]).unwrap();
        let scene = Scene::at(temp, beside);
        let tree = scene.tree("T");
        assert_eq!(head(&tree.path), head(&scene.root));
    }

    // spec: P6
    #[test]
    fn a_ralph_that_is_started_in_a_tree_knows_its_project() {
        use crate::project::Project;
        let scene = Scene::new();
        let tree = scene.tree("T");
        let home = scene.root.join(".ralph");
        fs::create_dir_all(tree.path.join("sub")).unwrap();
        let here = || Project::around(&tree.path.join("sub")).unwrap();
        assert_eq!(here(), Project { root: tree.path.clone(), home: home.clone() });
        // One that came with the repository is not its own.
        fs::create_dir(tree.path.join(".ralph")).unwrap();
        assert_eq!(here().home, home);
    }

    // spec: P6
    #[test]
    fn what_is_sparse_or_filtered_in_the_project_is_so_in_its_trees() {
        let scene = Scene::new();
        fs::create_dir_all(scene.root.join("large")).unwrap();
        fs::write(scene.root.join("large/data"), "big").unwrap();
        fs::write(scene.root.join(".gitattributes"), "*.up filter=up\n").unwrap();
        fs::write(scene.root.join("a.up"), "text").unwrap();
        scene.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
        scene.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
        commit_all(&scene.root);
        scene.git(&["sparse-checkout", "set", "--cone"]);
        let tree = scene.tree("T");
        assert_eq!(fs::read_to_string(tree.path.join("a.up")).unwrap(), "TEXT");
        assert!(!tree.path.join("large/data").exists(), "it is sparse as the user's is");
        let mark = crate::tree::Mark { stage: "coder".to_owned(), iteration: 1, attempt: 1 };
        fs::write(tree.path.join("new"), "").unwrap();
        let kept = crate::tree::snapshot(&scene.site, &tree, &mark).unwrap().commit;
        assert_eq!(
            scene.git(&["show", &format!("{kept}:large/data")]),
            "big",
            "what is not there was not removed"
        );
        assert_eq!(git(&tree.path, &["status", "--porcelain"]).unwrap(), "?? new\n");
    }

    // spec: P6
    #[test]
    fn submodules_are_left_to_the_commands_that_set_a_tree_up() {
        let scene = Scene::new();
        let (_other, module) = repository();
        commit_all(&module);
        let from = module.to_str().unwrap();
        scene.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "module"]);
        commit_all(&scene.root);
        let tree = scene.tree("T");
        assert_eq!(fs::read_dir(tree.path.join("module")).unwrap().count(), 0);
        git(&tree.path, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"])
            .unwrap();
        assert!(tree.path.join("module/file").is_file());
        let removed = crate::tree::remove(&scene.site, "T").unwrap();
        assert!(
            matches!(removed, crate::tree::Removal::Kept(_)),
            "git removes no tree with submodules: {removed:?}"
        );
    }

    // spec: P6
    #[test]
    fn no_hook_of_the_repository_is_run() {
        use std::os::unix::fs::PermissionsExt;
        let scene = Scene::new();
        for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
            let path = scene.root.join(".git/hooks").join(hook);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "#!/bin/sh\ntouch hooked\nexit 1\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        scene.git(&["config", "core.hooksPath", scene.root.join(".git/hooks").to_str().unwrap()]);
        let tree = scene.tree("T");
        assert!(!tree.path.join("hooked").exists() && !scene.root.join("hooked").exists());
    }
}
