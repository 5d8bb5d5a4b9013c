//! Does what was thought out: the record first, then file after file. If one cannot be written, those before it are put
//! back, and nothing has happened.
use std::fs;
use std::io;
use std::path::PathBuf;

use super::error::InstallError;
use super::install_record::{InstallRecord, InstallRecordFile};
use super::plan_install::FileChange;
use super::settings_file::{remove_draft, replace_file, snapshot_file};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOutcome {
    /// It is new.
    Created,
    /// It was there, and has been brought up to date.
    Updated,
    /// It is as it should be.
    Unchanged,
    /// It was ours, and is gone.
    Removed,
    /// What was ours in it is gone.
    HooksRemoved,
    /// Somebody has changed it since, or made it: it stays.
    NotOurs,
}

impl FileOutcome {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "wrote",
            Self::Updated => "changed",
            Self::Unchanged => "kept",
            Self::Removed => "removed",
            Self::HooksRemoved => "restored",
            Self::NotOurs => "not ours",
        }
    }
}

/// All that is to be done.
pub struct InstallPlan {
    pub(super) record_file: InstallRecordFile,
    pub(super) old_record: Option<InstallRecord>,
    pub(super) new_record: Option<InstallRecord>,
    pub(super) changes: Vec<FileChange>,
    /// Folders that go if nothing is left in them, the highest first.
    pub(super) removable_folders: Vec<PathBuf>,
}

/// One file and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    pub path: PathBuf,
    pub outcome: FileOutcome,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl InstallPlan {
    /// Returns what would become of each file.
    #[must_use]
    pub fn file_reports(&self) -> Vec<FileReport> {
        let report = |change: &FileChange| FileReport {
            path: change.path.clone(),
            outcome: change.outcome,
            before: change.before.clone(),
            after: change.after.clone(),
        };
        self.changes.iter().map(report).collect()
    }

    /// Tells whether there was anything of ours, according to the record or the files.
    #[must_use]
    pub fn has_installation(&self) -> bool {
        let is_ours = |change: &FileChange| matches!(change.outcome, FileOutcome::Removed | FileOutcome::HooksRemoved);
        self.old_record.is_some() || self.changes.iter().any(is_ours)
    }
}

impl InstallPlan {
    /// Undoes everything up to the change that failed, which may have been made nonetheless.
    fn roll_back(&self, index: usize, source: io::Error) -> InstallError {
        let done = self.changes.get(..=index).unwrap_or_default();
        let lost = done.iter().rev().filter(|change| revert_change(change).is_err()).count();
        let made = self.new_record.as_ref().map(|new| new.folders.clone()).unwrap_or_default();
        let is_back = remove_empty_folders(&made).is_ok() && lost == 0;
        let path = done.last().map(|change| change.path.clone()).unwrap_or_default();
        // Of what could not be put back the record must go on to tell.
        match is_back && self.record_file.write(self.old_record.as_ref()).is_ok() {
            true => InstallError::Unwritable { path, source },
            false => InstallError::RollbackFailed { path, source },
        }
    }
}

/// Does it.
pub fn apply_plan(apply: &InstallPlan) -> Result<(), InstallError> {
    let _lock = apply.record_file.lock()?;
    apply.changes.iter().try_for_each(ensure_unchanged)?;
    if apply.new_record.is_some() && apply.new_record != apply.old_record {
        apply.record_file.write(apply.new_record.as_ref())?;
    }
    for (index, change) in apply.changes.iter().enumerate() {
        if let Err(source) = perform_change(change) {
            return Err(apply.roll_back(index, source));
        }
    }
    remove_empty_folders(&apply.removable_folders)?;
    if apply.new_record.is_none() { apply.record_file.write(None) } else { Ok(()) }
}

/// The host, or another ralph, may have written since it was looked at.
fn ensure_unchanged(change: &FileChange) -> Result<(), InstallError> {
    match snapshot_file(&change.path)?.text == change.before {
        true => Ok(()),
        false => Err(InstallError::UnusablePath {
            path: change.path.clone(),
            problem: "was changed meanwhile: run it again",
        }),
    }
}

fn perform_change(change: &FileChange) -> io::Result<()> {
    remove_draft(&change.real_path);
    match &change.after {
        after if *after == change.before => Ok(()),
        Some(after) => replace_file(&change.real_path, after),
        None => fs::remove_file(&change.real_path),
    }
}

fn revert_change(change: &FileChange) -> io::Result<()> {
    match &change.before {
        before if *before == change.after => Ok(()),
        Some(before) => replace_file(&change.real_path, before),
        None => match fs::remove_file(&change.real_path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        },
    }
}

/// Removes folders in which nothing is left, the deepest first.
fn remove_empty_folders(folders: &[PathBuf]) -> Result<(), InstallError> {
    let mut folders = folders.to_vec();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    let is_fine = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
    folders.into_iter().try_for_each(|path| match fs::remove_dir(&path) {
        Err(source) if !is_fine(&source) => Err(InstallError::NotRemoved { path, source }),
        Ok(()) | Err(_) => Ok(()),
    })
}
