//! Accepted work is merged into the branch of the user's work tree. The merge is made of objects alone; only when it was
//! verified are the user's files touched, then the branch. What is going on stands in two references, so that whoever comes
//! after a crash finishes it or takes it back.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::obstacle::obstacles;
use super::snapshot::hold_on;
use super::{Site, TreeError, accept, names};
use crate::git::{self, Author, Change, ChangeKind, Merge, NewCommit, RefChange, Was};
use ralph_util::fail::{self, Point};

/// The branch that work is landed on, and where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Onto {
    /// Its full name.
    pub branch: String,
    pub tip: String,
}

impl Onto {
    /// Returns the branch as people write it.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch)
    }
}

/// A merge that is not landed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    pub name: String,
    pub onto: Onto,
    /// The work that is landed.
    pub accepted: String,
    /// The result.
    pub merged: String,
}

impl Landing {
    /// Tells whether the branch has the work already.
    #[must_use]
    pub fn is_there_already(&self) -> bool {
        self.merged == self.onto.tip
    }
}

/// Accepted work that is not in the user's branch yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotLanded {
    pub name: String,
    pub accepted: String,
    /// Where the branch was.
    pub tip: String,
}

/// Returns all accepted work of the repository that the user's branch does not have.
pub fn not_landed(site: &Site) -> Result<Vec<NotLanded>, TreeError> {
    let root = &site.root;
    let Some(tip) = git::head(root)? else { return Ok(Vec::new()) };
    let all = git::refs_not_in(root, &names::accepted("*"), &tip)?.into_iter();
    let of = |found: git::FoundRef| {
        let name = names::accepted_of(&found.name)?.to_owned();
        Some(NotLanded { name, accepted: found.commit, tip: tip.clone() })
    };
    Ok(all.filter_map(of).collect())
}

/// Merges the accepted work of a task with the branch of the user's work tree. Nothing of the user's is touched.
pub fn merged(site: &Site, name: &str) -> Result<Landing, TreeError> {
    let root = &site.root;
    let accepted =
        accept::accepted(site, name)?.ok_or_else(|| TreeError::NothingAccepted { name: name.to_owned() })?;
    refuse_moved(site, name, &accepted)?;
    let onto = onto(root)?;
    refuse_unfinished(root)?;
    let merged = if git::is_ancestor(root, &accepted, &onto.tip)? {
        onto.tip.clone()
    } else if git::is_ancestor(root, &onto.tip, &accepted)? {
        accepted.clone()
    } else {
        merge(root, name, (&onto, &accepted))?
    };
    let landing = Landing { name: name.to_owned(), onto, accepted, merged };
    refuse_dirty(root, &landing)?;
    Ok(landing)
}

fn onto(root: &Path) -> Result<Onto, TreeError> {
    let branch = git::branch_of(root)?.ok_or(TreeError::Detached)?;
    let tip = git::head(root)?.ok_or(TreeError::Unborn)?;
    Ok(Onto { branch, tip })
}

fn merge(root: &Path, name: &str, (onto, accepted): (&Onto, &str)) -> Result<String, TreeError> {
    let tree = match git::merge(root, &onto.tip, accepted)? {
        Merge::Clean { tree } => tree,
        Merge::Conflict { files } => {
            return Err(TreeError::Conflict { name: name.to_owned(), onto: onto.shown().to_owned(), files });
        }
    };
    let message = format!("Merge branch 'ralph/{name}'");
    let new = NewCommit { tree: &tree, parents: &[&onto.tip, accepted], message: &message };
    Ok(git::commit_tree(root, &new, Author::User)?)
}

/// Only what was accepted is landed. A branch that lags behind was held by somebody; one with other commits is somebody's.
fn refuse_moved(site: &Site, name: &str, accepted: &str) -> Result<(), TreeError> {
    match git::commit_at(&site.root, &names::branch(name))? {
        Some(is) if !git::is_ancestor(&site.root, &is, accepted)? => {
            Err(TreeError::Moved { branch: format!("ralph/{name}"), is, was: accepted.to_owned() })
        }
        Some(_) | None => Ok(()),
    }
}

fn refuse_unfinished(root: &Path) -> Result<(), TreeError> {
    const SIGNS: &[(&str, &str)] = &[
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
    ];
    let head = git::own_file(root, "HEAD")?;
    let there = |name: &str| head.with_file_name(name).exists();
    match SIGNS.iter().find(|(sign, _)| there(sign)) {
        Some((_, what)) => Err(TreeError::Unfinished { what }),
        None => Ok(()),
    }
}

/// Refuses where a file of the user's that is nowhere else would be written over.
fn refuse_dirty(root: &Path, landing: &Landing) -> Result<(), TreeError> {
    let changes = git::changes(root, &landing.onto.tip, &landing.merged)?;
    let touched: BTreeSet<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
    let mut files = git::uncommitted(root)?;
    files.retain(|file| touched.contains(file.as_path()));
    files.extend(obstacles(root, &changes));
    files.sort();
    files.dedup();
    if files.is_empty() { Ok(()) } else { Err(TreeError::Dirty { name: landing.name.clone(), files }) }
}

/// Gives the user's branch and work tree the result.
pub fn finish(site: &Site, landing: &Landing) -> Result<(), TreeError> {
    let Landing { name, onto: was, merged, .. } = landing;
    let root = &site.root;
    let overtaken = || TreeError::Overtaken { name: name.clone(), branch: was.shown().to_owned() };
    if onto(root)? != *was {
        return Err(overtaken());
    }
    refuse_unfinished(root)?;
    refuse_dirty(root, landing)?;
    if !landing.is_there_already() {
        record(root, name, (&was.tip, merged))?;
        fail::point(Point::LandRecorded);
        if let Err(error) = git::change_files(root, &was.tip, merged) {
            recover(site, name)?;
            return Err(error.into());
        }
        fail::point(Point::LandFilesMoved);
        if move_branch(root, name, (was, merged)).is_err() {
            give_up(root, name, merged)?;
            return Err(overtaken());
        }
        fail::point(Point::LandBranchMoved);
    }
    accept::follow(site, name)
}

fn record(root: &Path, name: &str, (from, to): (&str, &str)) -> Result<(), TreeError> {
    let put = |name, to: &str| RefChange::Put { name, to: to.to_owned(), was: Was::Anything };
    let records = [put(names::landing_from(name), from), put(names::landing_to(name), to)];
    Ok(git::change_refs(root, &records, "ralph: a landing begins")?)
}

fn forgotten(name: &str) -> [RefChange; 2] {
    [names::landing_from(name), names::landing_to(name)].map(|name| RefChange::Drop { name })
}

fn move_branch(root: &Path, name: &str, (onto, merged): (&Onto, &str)) -> Result<(), TreeError> {
    let mut changes = vec![RefChange::moved(&onto.branch, &onto.tip, merged)];
    changes.extend(forgotten(name));
    Ok(git::change_refs(root, &changes, &format!("ralph land {name}"))?)
}

/// Gives the user's files back what their branch has now, where a landing had moved them.
fn give_up(root: &Path, name: &str, merged: &str) -> Result<(), TreeError> {
    let tip = git::head(root)?.ok_or(TreeError::Unborn)?;
    git::change_files(root, merged, &tip)?;
    Ok(git::change_refs(root, &forgotten(name), "ralph: the landing is over")?)
}

/// Finishes or takes back a landing that a crash cut short. What was verified and is whole in the user's files is finished;
/// files that were half moved are put back.
pub fn recover(site: &Site, name: &str) -> Result<(), TreeError> {
    let root = &site.root;
    let at = |reference: String| git::commit_at(root, &reference);
    let (Some(from), Some(to)) = (at(names::landing_from(name))?, at(names::landing_to(name))?) else {
        return Ok(());
    };
    match onto(root) {
        Ok(onto) if onto.tip == from && is_moved(root, (&from, &to))? => {
            return move_branch(root, name, (&onto, &to));
        }
        Ok(onto) if onto.tip == from => take_back(site, name, (&from, &to))?,
        // The branch is somewhere else: whoever moved it has dealt with the files.
        Ok(_) | Err(TreeError::Detached | TreeError::Unborn) => {}
        Err(error) => return Err(error),
    }
    Ok(git::change_refs(root, &forgotten(name), "ralph: the landing is over")?)
}

/// Tells whether the files were moved to the end: the index is written last. Other files in it are the user's.
fn is_moved(root: &Path, (from, to): (&str, &str)) -> Result<bool, TreeError> {
    let others = git::index_differences(root, to)?;
    Ok(git::changes(root, from, to)?.iter().all(|change| !others.contains(&change.path)))
}

/// Puts back the files that have what they should have had after the landing. All others are the user's.
fn take_back(site: &Site, name: &str, (from, to): (&str, &str)) -> Result<(), TreeError> {
    let root = &site.root;
    let now = git::keep(root, &format!("ralph: {name}, a landing that was cut short"))?.commit;
    hold_on(site, name, "cut-short", &now)?;
    let others: BTreeSet<PathBuf> = git::changes(root, to, &now)?.into_iter().map(|one| one.path).collect();
    let moved = git::changes(root, from, to)?.into_iter().filter(|change| !others.contains(&change.path));
    let (added, rest): (Vec<Change>, Vec<Change>) =
        moved.partition(|change| change.kind == ChangeKind::Added);
    for change in added {
        remove_file(root, &change.path)?;
    }
    let rest: Vec<PathBuf> = rest.into_iter().map(|change| change.path).collect();
    Ok(git::restore_files(root, from, &rest)?)
}

/// Removes a file that git had put there, and the folders that are empty then.
pub(super) fn remove_file(root: &Path, path: &Path) -> Result<(), TreeError> {
    let whole = root.join(path);
    match fs::remove_file(&whole) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(source) => return Err(TreeError::Folder { path: whole, source }),
    }
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(above)).is_err() {
            break;
        }
    }
    Ok(())
}
