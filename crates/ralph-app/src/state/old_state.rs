//! Moves the state that an earlier version kept in the work tree into the state folder of the user, once.
//!
//! Such a folder may also come from a stranger, in an archive or a submodule, and a run in it could then start commands of
//! theirs. So ralph moves it only if something outside the work tree, or of this boot of the machine, shows that it is the
//! user's, or if the user says so.
use std::path::{Path, PathBuf};

use ralph_engine::git;
use ralph_engine::lock::{self, RunOwner};
use ralph_engine::project::Project;
use ralph_engine::run_driver::EngineError;
use ralph_process::ProcessIdentity;

use super::move_folder::move_entries;
use crate::advice::Advice;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::trust::TrustList;

const DATABASE_FILE: &str = "ralph.db";

/// The maximum size of a lock file.
const MAX_OWNER_BYTES: usize = 4_096;

/// Whether the old state must be shown to be the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateEvidence {
    Required,
    /// The user has said that it is theirs.
    GivenByUser,
}

/// Moves the old state of the project, if there is one and the project has no other. Returns whether it was moved.
pub fn adopt_old_state(project: &Project, evidence: StateEvidence) -> AppResult<bool> {
    let old = project.old_state_folder();
    if !old.join(DATABASE_FILE).is_file() || project.state_folder().join(DATABASE_FILE).exists() {
        return Ok(false);
    }
    let is_known = evidence == StateEvidence::GivenByUser || is_known_to_be_ours(project, &old)?;
    if !is_known {
        return Err(AppError::from_message(
            ErrorKind::StateUnusable,
            format!("the recorded runs in {} may have come with the project", old.display()),
        )
        .with_cause("nothing outside the project shows that you recorded them")
        .with_advice(Advice::DistrustRecordedRuns));
    }
    refuse_active_runs(&old)?;
    project.create_state_folder().map_err(EngineError::from)?;
    move_entries(&old, &project.state_folder(), DATABASE_FILE).map_err(|error| {
        AppError::from_message(ErrorKind::StateUnusable, format!("cannot move the state {}", old.display()))
            .with_cause(error)
    })?;
    Ok(true)
}

/// Returns whether the user trusts the project, or a ralph of this boot of the machine has used the state.
fn is_known_to_be_ours(project: &Project, old: &Path) -> AppResult<bool> {
    if project.home.join(".git").exists() && project.home != project.root || git::is_tracked(&project.root, old)? {
        return Ok(false);
    }
    if TrustList::for_user(|name| std::env::var_os(name))?.has_project(&project.root)? {
        return Ok(true);
    }
    let boot = ProcessIdentity::of_this_process().boot;
    let is_of_this_boot = |lock: &PathBuf| read_owner(lock).is_some_and(|owner| owner.process.boot == boot);
    Ok(!boot.is_empty() && lock_files(old).iter().any(is_of_this_boot))
}

/// A ralph of an earlier version that still runs must not lose its state.
fn refuse_active_runs(old: &Path) -> AppResult<()> {
    match lock_files(old).iter().find(|path| !lock::is_lock_free(path)) {
        None => Ok(()),
        Some(path) => Err(AppError::from_message(
            ErrorKind::StateUnusable,
            "a run of an earlier ralph is active, so its state cannot be moved",
        )
        .with_cause(format!("{} is locked", path.display()))
        .with_advice("wait until it has ended, or stop it")),
    }
}

fn lock_files(old: &Path) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(old.join("runs")).into_iter().flatten();
    let of_runs = runs.filter_map(|run| Some(run.ok()?.path().join("lock")));
    std::iter::once(old.join("lock")).chain(of_runs).collect()
}

fn read_owner(lock: &Path) -> Option<RunOwner> {
    let bytes = std::fs::read(lock).ok().filter(|bytes| bytes.len() <= MAX_OWNER_BYTES)?;
    RunOwner::parse(String::from_utf8_lossy(&bytes).trim_end())
}
