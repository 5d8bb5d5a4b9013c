//! A tree is removed when nothing would be lost with it: its commits are merged, and everything in it is committed.
use super::{Site, TreeError, find, names};
use crate::git;

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
    let (here, there) = (git::head(&site.root)?, git::head(&tree.path)?);
    let is_merged = match (&here, &there) {
        (Some(here), Some(there)) => git::is_ancestor(&site.root, there, here)?,
        (_, _) => false,
    };
    if !is_merged {
        return Ok(Removal::Kept("it has commits that are not merged".to_owned()));
    }
    let position = git::position(&tree.path, None)?;
    if let Some(first) = position.uncommitted.first() {
        return Ok(Removal::Kept(format!("{first} in it is not committed")));
    }
    match git::remove_linked(&site.root, &tree.path, &names::reason(name, &site.key())) {
        Ok(()) => Ok(Removal::Removed),
        Err(error) => Ok(Removal::Kept(error.to_string())),
    }
}
