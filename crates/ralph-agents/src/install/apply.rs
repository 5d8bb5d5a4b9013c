//! Applies an install plan: writes the install record first, then file by file. If a file cannot be written, all
//! earlier changes are rolled back.
use std::fs;
use std::io;
use std::path::PathBuf;

use super::contents::settings_file::{remove_draft, replace_file, snapshot_file};
use super::error::InstallError;
use super::install_record::{InstallRecord, InstallRecordFile};
use super::plan_install::FileChange;

/// The effect of a plan on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOutcome {
    Created,
    Updated,
    /// It is already up to date.
    Unchanged,
    /// It was written by ralph and is deleted.
    Removed,
    /// ralph's hooks are removed from it.
    HooksRemoved,
    /// It was created or changed by the user, so it is kept.
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

    /// Returns what an installation would do to the file.
    #[must_use]
    pub fn planned_name(self) -> &'static str {
        match self {
            Self::Created => "would write",
            Self::Updated => "would change",
            Self::Unchanged => "would keep",
            Self::Removed => "would remove",
            Self::HooksRemoved => "would restore",
            Self::NotOurs => "not ours",
        }
    }
}

/// The file changes of an install or uninstall.
pub struct InstallPlan {
    pub(crate) record_file: InstallRecordFile,
    pub(crate) old_record: Option<InstallRecord>,
    pub(crate) new_record: Option<InstallRecord>,
    pub(crate) changes: Vec<FileChange>,
    /// Folders to remove if they are empty, parents first.
    pub(crate) removable_folders: Vec<PathBuf>,
}

/// One file and the effect of the plan on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    pub path: PathBuf,
    pub outcome: FileOutcome,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl InstallPlan {
    /// Returns the effect of the plan on each file.
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

    /// Returns whether the record or the files show an existing installation.
    #[must_use]
    pub fn has_installation(&self) -> bool {
        let is_ours = |change: &FileChange| matches!(change.outcome, FileOutcome::Removed | FileOutcome::HooksRemoved);
        self.old_record.is_some() || self.changes.iter().any(is_ours)
    }
}

impl InstallPlan {
    /// Reverts all changes up to and including the failed one, which may have taken effect.
    fn roll_back(&self, index: usize, source: io::Error) -> InstallError {
        let done = self.changes.get(..=index).unwrap_or_default();
        let failures = done.iter().rev().filter(|change| revert_change(change).is_err()).count();
        let created = self.new_record.as_ref().map(|new| new.folders.clone()).unwrap_or_default();
        let is_reverted = remove_empty_folders(&created).is_ok() && failures == 0;
        let path = done.last().map(|change| change.path.clone()).unwrap_or_default();
        // If the rollback failed, the new record must stay, so that a later uninstall finds the files.
        match is_reverted && self.record_file.write(self.old_record.as_ref()).is_ok() {
            true => InstallError::Unwritable { path, source },
            false => InstallError::RollbackFailed { path, source },
        }
    }
}

/// Applies the plan while holding the install lock. Fails without changes if a file has changed since it was planned.
pub fn apply_plan(plan: &InstallPlan) -> Result<(), InstallError> {
    let _lock = plan.record_file.lock()?;
    plan.changes.iter().try_for_each(ensure_unchanged)?;
    if plan.new_record.is_some() && plan.new_record != plan.old_record {
        plan.record_file.write(plan.new_record.as_ref())?;
    }
    for (index, change) in plan.changes.iter().enumerate() {
        if let Err(source) = perform_change(change) {
            return Err(plan.roll_back(index, source));
        }
    }
    remove_empty_folders(&plan.removable_folders)?;
    if plan.new_record.is_none() { plan.record_file.write(None) } else { Ok(()) }
}

/// Fails if the host or another ralph has changed the file since it was planned.
fn ensure_unchanged(change: &FileChange) -> Result<(), InstallError> {
    match snapshot_file(&change.path)?.text == change.before {
        true => Ok(()),
        false => Err(InstallError::UnusablePath {
            path: change.path.clone(),
            problem: "was changed in the meantime: run the command again",
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

/// Removes the folders that are empty, deepest first.
fn remove_empty_folders(folders: &[PathBuf]) -> Result<(), InstallError> {
    let mut folders = folders.to_vec();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    let is_ignorable = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
    folders.into_iter().try_for_each(|path| match fs::remove_dir(&path) {
        Err(source) if !is_ignorable(&source) => Err(InstallError::NotRemoved { path, source }),
        Ok(()) | Err(_) => Ok(()),
    })
}
