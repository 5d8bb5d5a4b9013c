//! A tree is made, or opened where it is there already. Whatever cut an earlier attempt short, the next one goes on.
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Site, Tree, TreeError, names};
use crate::git::{self, Author, Linked, Merge, NewCommit, RefChange};
use crate::project::HOME_OF_TREE;
use ralph_util::fail::{self, Point};

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
pub(super) fn recorded(site: &Site, name: &str) -> Result<Option<String>, TreeError> {
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
    if linked.locked.is_none() {
        secure(site, &tree)?;
    }
    Ok(Made { tree, how: How::Found })
}

/// Goes on where a ralph died that was making a tree, or where somebody took the tree out of git's list.
fn resume(site: &Site, name: &str, base: String) -> Result<Made, TreeError> {
    let path = site.path(name);
    let accepted = git::commit_at(&site.root, &names::accepted(name))?.unwrap_or_else(|| base.clone());
    let tree = Tree { name: name.to_owned(), path: path.clone(), base };
    let listed = git::linked(&site.root)?.into_iter().find(|linked| is_same(&linked.path, &path));
    let at = match listed.as_ref().and_then(|linked| linked.head.clone()) {
        Some(head) if head != accepted => {
            super::snapshot::hold_on(site, name, "kept", &head)?;
            head
        }
        Some(_) | None => accepted,
    };
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

/// Finds a tree that was whole once: by the lock on it or, where somebody took that off, by its place.
fn registered(site: &Site, name: &str) -> Result<Option<Linked>, TreeError> {
    let (reason, path) = (names::reason(name, &site.key()), site.path(name));
    let all = git::linked(&site.root)?;
    let locked = all.iter().find(|linked| linked.locked.as_ref() == Some(&reason));
    let placed = || all.iter().find(|linked| is_same(&linked.path, &path) && was_whole(&linked.path));
    Ok(locked.or_else(placed).cloned())
}

/// Tells whether a tree was made to the end: only then is it said whose it is.
fn was_whole(path: &Path) -> bool {
    path.join(".git").is_file() && git::own_file(path, HOME_OF_TREE).is_ok_and(|file| file.is_file())
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
