//! Does what was thought out: the record first, then file after file. If one cannot be written, those before it are put
//! back, and nothing has happened.
use std::fs;
use std::io;
use std::path::PathBuf;

use super::change::Change;
use super::error::InstallError;
use super::file::{look, remove_draft, replace};
use super::record::{Record, Shelf};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It is new.
    Wrote,
    /// It was there, and has been brought up to date.
    Changed,
    /// It is as it should be.
    Kept,
    /// It was ours, and is gone.
    Removed,
    /// What was ours in it is gone.
    Restored,
    /// Somebody has changed it since, or made it: it stays.
    Foreign,
}

impl Done {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wrote => "wrote",
            Self::Changed => "changed",
            Self::Kept => "kept",
            Self::Removed => "removed",
            Self::Restored => "restored",
            Self::Foreign => "not ours",
        }
    }
}

/// All that is to be done.
pub struct Apply {
    pub(super) shelf: Shelf,
    pub(super) old: Option<Record>,
    pub(super) new: Option<Record>,
    pub(super) changes: Vec<Change>,
    /// Folders that go if nothing is left in them, the highest first.
    pub(super) emptied: Vec<PathBuf>,
}

/// One file and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub path: PathBuf,
    pub done: Done,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Apply {
    /// Returns what would become of each file.
    #[must_use]
    pub fn reports(&self) -> Vec<Report> {
        let report = |change: &Change| Report {
            path: change.path.clone(),
            done: change.done,
            before: change.before.clone(),
            after: change.after.clone(),
        };
        self.changes.iter().map(report).collect()
    }

    /// Tells whether there was anything of ours, according to the record or the files.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let is_ours = |change: &Change| matches!(change.done, Done::Removed | Done::Restored);
        self.old.is_some() || self.changes.iter().any(is_ours)
    }
}

impl Apply {
    /// Undoes everything up to the change that failed, which may have been made nonetheless.
    fn put_back(&self, index: usize, source: io::Error) -> InstallError {
        let done = self.changes.get(..=index).unwrap_or_default();
        let lost = done.iter().rev().filter(|change| put_back(change).is_err()).count();
        let made = self.new.as_ref().map(|new| new.folders.clone()).unwrap_or_default();
        let is_back = remove_empty(&made).is_ok() && lost == 0;
        let path = done.last().map(|change| change.path.clone()).unwrap_or_default();
        // Of what could not be put back the record must go on to tell.
        match is_back && self.shelf.write(self.old.as_ref()).is_ok() {
            true => InstallError::Unwritable { path, source },
            false => InstallError::Half { path, source },
        }
    }
}

/// Does it.
pub fn apply(apply: &Apply) -> Result<(), InstallError> {
    let _lock = apply.shelf.lock()?;
    apply.changes.iter().try_for_each(is_unchanged)?;
    if apply.new.is_some() && apply.new != apply.old {
        apply.shelf.write(apply.new.as_ref())?;
    }
    for (index, change) in apply.changes.iter().enumerate() {
        if let Err(source) = perform(change) {
            return Err(apply.put_back(index, source));
        }
    }
    remove_empty(&apply.emptied)?;
    if apply.new.is_none() { apply.shelf.write(None) } else { Ok(()) }
}

/// The host, or another ralph, may have written since it was looked at.
fn is_unchanged(change: &Change) -> Result<(), InstallError> {
    match look(&change.path)?.text == change.before {
        true => Ok(()),
        false => Err(InstallError::Unfit {
            path: change.path.clone(),
            what: "was changed meanwhile: run it again",
        }),
    }
}

fn perform(change: &Change) -> io::Result<()> {
    remove_draft(&change.real);
    match &change.after {
        after if *after == change.before => Ok(()),
        Some(after) => replace(&change.real, after),
        None => fs::remove_file(&change.real),
    }
}

fn put_back(change: &Change) -> io::Result<()> {
    match &change.before {
        before if *before == change.after => Ok(()),
        Some(before) => replace(&change.real, before),
        None => match fs::remove_file(&change.real) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        },
    }
}

/// Removes folders in which nothing is left, the deepest first.
fn remove_empty(folders: &[PathBuf]) -> Result<(), InstallError> {
    let mut folders = folders.to_vec();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    let is_fine = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
    folders.into_iter().try_for_each(|path| match fs::remove_dir(&path) {
        Err(source) if !is_fine(&source) => Err(InstallError::Left { path, source }),
        Ok(()) | Err(_) => Ok(()),
    })
}
