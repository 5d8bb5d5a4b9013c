//! A tree is removed when nothing would be lost with it: its commits are merged, and everything in it is committed.
use super::{Site, Tree, TreeError, find, names};
use crate::git::{self, RefChange};

/// What became of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    Removed,
    /// It stays, and why.
    Kept(String),
    /// There was none.
    None,
}

/// Removes the tree of a task, unless something in it is nowhere else. Its branch and its snapshots stay.
pub fn remove(site: &Site, name: &str) -> Result<Removal, TreeError> {
    let Some(tree) = find(site, name)? else { return Ok(Removal::None) };
    if let Some(why) = would_lose(site, &tree)? {
        return Ok(Removal::Kept(why));
    }
    match git::remove_linked(&site.root, &tree.path, &names::reason(name, &site.key())) {
        Ok(()) => Ok(Removal::Removed),
        Err(error) => Ok(Removal::Kept(error.to_string())),
    }
}

/// Says what would be lost with a tree, if anything would.
pub fn would_lose(site: &Site, tree: &Tree) -> Result<Option<String>, TreeError> {
    let (here, there) = (git::head(&site.root)?, git::head(&tree.path)?);
    let is_merged = match (&here, &there) {
        (Some(here), Some(there)) => git::is_ancestor(&site.root, there, here)?,
        (_, _) => false,
    };
    if !is_merged {
        return Ok(Some("it has commits that are not merged".to_owned()));
    }
    let position = git::position(&tree.path, None)?;
    Ok(position.uncommitted.first().map(|first| format!("{first} in it is not committed")))
}

/// Returns the trees of a project.
pub fn all(site: &Site) -> Result<Vec<Tree>, TreeError> {
    let end = names::reason("", &site.key());
    let (start, end) = end.split_at(end.find(" of ").unwrap_or_default());
    let names = git::linked(&site.root)?.into_iter().filter_map(|linked| {
        let name = linked.locked?.strip_prefix(start)?.strip_suffix(end)?.to_owned();
        Some(name)
    });
    let found: Result<Vec<Option<Tree>>, TreeError> = names.map(|name| find(site, &name)).collect();
    Ok(found?.into_iter().flatten().collect())
}

/// Lets go of a tree in which nothing was ever done, with all that leads to it. Where something was, it stays.
pub fn discard(site: &Site, name: &str) -> Result<Removal, TreeError> {
    let removal = remove(site, name)?;
    let all = git::refs_below(&site.root, &names::all(name))?;
    let base = names::base(name, &site.key());
    let base = all.iter().find(|found| found.name == base).map(|found| found.commit.clone());
    let branch = git::commit_at(&site.root, &names::branch(name))?;
    let is_untouched =
        base.is_some() && branch == base && all.iter().all(|one| Some(&one.commit) == base.as_ref());
    if removal == Removal::Removed && is_untouched {
        let found = all.into_iter().map(|found| found.name).chain([names::branch(name)]);
        let drops: Vec<RefChange> = found.map(|name| RefChange::Drop { name }).collect();
        git::change_refs(&site.root, &drops, "ralph: nothing was done")?;
    }
    Ok(removal)
}
