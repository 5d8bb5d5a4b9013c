//! The one shape of every error that a user sees: what went wrong, why, how to fix it, and the exit code.
use std::error::Error;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use ralph_core::outcome::exit_code;

use ralph_agents::install::InstallError;
use ralph_app::config::ConfigError;
use ralph_app::task::TaskError;
use ralph_app::trust::TrustError;
use ralph_engine::lock::{LockError, RunOwner};
use ralph_engine::project::ProjectError;
use ralph_engine::run_driver::EngineError;
use ralph_engine::worktree::WorktreeError;
use ralph_store::{DamagedCopy, SqliteProblem, StoreError};
use ralph_util::private_files::ForeignPathError;
use ralph_util::sanitize::escape_hidden;

/// An error on its way to the user.
#[derive(Debug)]
pub struct CommandError {
    pub message: String,
    pub causes: Vec<String>,
    pub hints: Vec<String>,
    pub exit_code: u8,
}

impl Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl CommandError {
    /// Wraps an error with its causes.
    pub fn from_error(exit_code: u8, error: &(dyn Error + 'static)) -> Self {
        let mut causes: Vec<String> = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Some errors quote their cause.
            if !causes.last().is_some_and(|told| told.ends_with(&text)) {
                causes.push(text);
            }
            source = cause.source();
        }
        Self { message: error.to_string(), causes, hints: Vec::new(), exit_code }
    }

    /// Something about the call itself is wrong.
    pub fn usage_error(message: impl Display) -> Self {
        Self::from_message(exit_code::USAGE_ERROR, message)
    }

    /// Something that a run needs is missing.
    pub fn preflight_error(message: impl Display) -> Self {
        Self::from_message(exit_code::PREFLIGHT_FAILED, message)
    }

    pub fn from_message(exit_code: u8, message: impl Display) -> Self {
        Self { message: message.to_string(), causes: Vec::new(), hints: Vec::new(), exit_code }
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    #[must_use]
    pub fn with_cause(mut self, cause: impl Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }
}

impl From<ProjectError> for CommandError {
    fn from(error: ProjectError) -> Self {
        let failure = Self::from_error(exit_code::PREFLIGHT_FAILED, &error);
        match &error {
            ProjectError::NoRepository { .. } => {
                failure.with_hint("agents work in a git repository: go to one, or make one with `git init`")
            }
            ProjectError::NoFolder { .. } => {
                failure.with_hint("the folder may have been removed: `cd` to another")
            }
            ProjectError::LinkLeadsOut { link, .. } => {
                Self { exit_code: exit_code::STATE_UNUSABLE, ..failure }.with_hint(format!(
                    "nothing was written there; to use it nonetheless, take the link out of the repository: git rm --cached {}",
                    link.display()
                ))
            }
        }
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        let failure = Self::preflight_error(&error);
        error.hint.into_iter().fold(failure, Self::with_hint)
    }
}

impl From<TaskError> for CommandError {
    fn from(error: TaskError) -> Self {
        let failure = Self::preflight_error(&error);
        error.hint.into_iter().fold(failure, Self::with_hint)
    }
}

impl From<TrustError> for CommandError {
    fn from(error: TrustError) -> Self {
        let failure = Self::from_error(exit_code::PREFLIGHT_FAILED, &error);
        match &error {
            TrustError::NoHome => failure.with_hint("set HOME"),
            TrustError::Malformed { path, .. } => {
                failure.with_hint(format!("move {} away; approvals must then be given again", path.display()))
            }
            TrustError::Newer { .. } => failure.with_hint("update ralph"),
            TrustError::Unreadable { path, .. } | TrustError::Unwritable { path, .. } => {
                failure.with_hint(format!("look at {} and its folder", path.display()))
            }
        }
    }
}

impl From<InstallError> for CommandError {
    fn from(error: InstallError) -> Self {
        let failure = Self::from_error(exit_code::PREFLIGHT_FAILED, &error);
        match &error {
            InstallError::UnknownHost { suggestion: near, .. } => Self { exit_code: exit_code::USAGE_ERROR, ..failure }
                .with_hint(match near {
                    Some(near) => format!("did you mean {near}?"),
                    None => "hosts are claude, codex, gemini, qwen, copilot and opencode".to_owned(),
                }),
            InstallError::NoHome { variable } => failure.with_hint(format!("set {variable}")),
            InstallError::MalformedSettings { .. } => {
                failure.with_hint("nothing was changed; mend that place, and run it again")
            }
            InstallError::NotOurs { path } => {
                failure.with_hint(format!("nothing was changed; move {} away, and run it again", path.display()))
            }
            InstallError::UnusablePath { .. }
            | InstallError::Unreadable { .. }
            | InstallError::UnknownExecutable { .. } => failure.with_hint("nothing was changed"),
            InstallError::Unwritable { .. } => {
                failure.with_hint("what had been changed was put back; look at its folder, its owner and its disk")
            }
            InstallError::RollbackFailed { .. } => {
                failure.with_hint("when it can be written again, run this again, or `ralph uninstall`: nothing is lost")
            }
            InstallError::NotRemoved { .. } => failure.with_hint("everything else is done; run it again"),
            InstallError::MalformedRecord { path, .. } => failure.with_hint(format!(
                "nothing was changed; move {} away: ralph then takes out what it recognises",
                path.display()
            )),
            InstallError::NewerRecord { .. } => failure.with_hint("nothing was changed; update ralph"),
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let failure = Self::from_error(exit_code::STATE_UNUSABLE, &error);
        match &error {
            StoreError::Folder { path, source } => failure.with_hint(unusable_path_hint(path, source)),
            StoreError::Database { path, source } => {
                failure.with_hint(database_hint(path, SqliteProblem::from_error(source)))
            }
            StoreError::Damaged { path, kept, .. } => {
                failure.with_hint(damaged_copy_hint(kept)).with_hint(start_over_hint(path))
            }
            StoreError::ChangedOutside { kept, .. } => failure.with_hint(damaged_copy_hint(kept)).with_hint(
                "the agent may have written to .ralph/state; the run was stopped, and nothing more was recorded",
            ),
            StoreError::Removed { .. } => failure.with_hint(
                "the agent may have cleaned too much: `git clean -x` removes .ralph/state; the run was stopped",
            ),
            StoreError::TakenOver { owner, .. } => {
                let by = owner.as_deref().and_then(RunOwner::parse);
                let failure = by.into_iter().fold(failure, |failure, by| failure.with_cause(format!("it is {by}")));
                failure.with_hint("this one has stopped its agent and recorded nothing more; `ralph show` has the run")
            }
            StoreError::LeaseLost { .. } => failure.with_hint(
                "this one has stopped its agent and recorded nothing more; `ralph status` shows who works on it",
            ),
            StoreError::LeaseTaken { .. } => Self { exit_code: exit_code::PREFLIGHT_FAILED, ..failure }
                .with_hint("nothing was begun; `ralph status` shows who works on it"),
            StoreError::BackupFailed { .. } => Self { exit_code: exit_code::PREFLIGHT_FAILED, ..failure }
                .with_hint("name a file that is not there yet, in a folder that you can write to"),
            StoreError::NewerSchema { .. } => failure.with_hint("update ralph; the database was not touched"),
            StoreError::OlderSchema { path, .. } => failure.with_hint(format!(
                "see that you may write to {} and its folder, or copy the project to where you may: it is then brought \
                 up to date by itself",
                path.display()
            )),
            StoreError::Unreadable { .. } => failure.with_hint("nothing was deleted; please report this"),
        }
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Lock(error) => error.into(),
            EngineError::RunSpec { .. } => Self::from_error(exit_code::PREFLIGHT_FAILED, &error),
            EngineError::Notes { .. } => Self::from_error(exit_code::STATE_UNUSABLE, &error)
                .with_hint("it must be possible to write into the folder of the notes"),
            EngineError::Folder { ref path, ref source } => {
                Self::from_error(exit_code::STATE_UNUSABLE, &error).with_hint(unusable_path_hint(path, source))
            }
            EngineError::Workspace { .. } => Self::from_error(exit_code::STATE_UNUSABLE, &error)
                .with_hint("the agent removed it; git may still have the files"),
            EngineError::Signals { .. } => Self::from_error(exit_code::INTERNAL_ERROR, &error),
        }
    }
}

impl From<LockError> for CommandError {
    fn from(error: LockError) -> Self {
        match &error {
            LockError::Taken { path, owner: Some(owner) } => Self::from_message(
                exit_code::STATE_UNUSABLE,
                format!("another ralph is at work here: run {}, {owner}", owner.run),
            )
            .with_cause(format!("it has the lock {}", path.display()))
            .with_hint(format!("wait for it, or stop it with `kill {}`", owner.process.pid)),
            LockError::Taken { path, owner: None } => {
                Self::from_message(exit_code::STATE_UNUSABLE, "other runs are at work here")
                    .with_cause(format!("they have the lock {}", path.display()))
                    .with_hint("`ralph runs` lists them; wait for them")
            }
            LockError::CannotOpen { path, .. } => Self::from_error(exit_code::STATE_UNUSABLE, &error)
                .with_hint(format!("make {} a file that you can write, or remove it", path.display())),
            LockError::Unsupported { .. } => Self::from_error(exit_code::STATE_UNUSABLE, &error)
                .with_hint("without them two runs could harm each other: keep the project on a local file system"),
        }
    }
}

impl From<WorktreeError> for CommandError {
    fn from(error: WorktreeError) -> Self {
        let code = if matches!(error, WorktreeError::Git(_)) {
            exit_code::GIT_FAILED
        } else if matches!(error, WorktreeError::Folder { .. }) {
            exit_code::STATE_UNUSABLE
        } else {
            exit_code::PREFLIGHT_FAILED
        };
        let failure = error.files().iter().fold(Self::from_error(code, &error), |failure, file| {
            failure.with_cause(escape_hidden(&file.display().to_string()))
        });
        if let WorktreeError::Folder { path, source } = &error {
            return failure.with_hint(unusable_path_hint(path, source));
        }
        error.hint().into_iter().fold(failure, Self::with_hint)
    }
}

/// Returns what to do about a folder or file of our own that cannot be used.
fn unusable_path_hint(path: &Path, error: &io::Error) -> String {
    match ForeignPathError::from_io_error(error) {
        Some(ForeignPathError { path, .. }) => format!(
            "ralph writes only to plain files in real folders, and followed nothing; look at it, and move it away: mv {0} {0}.away",
            path.display()
        ),
        None => match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("the disk of {} is full: free some space, and start again", path.display())
            }
            io::ErrorKind::ReadOnlyFilesystem => {
                format!("the file system of {} is read-only: ralph needs to write there", path.display())
            }
            _ => format!("see that you may write to {}", path.display()),
        },
    }
}

fn database_hint(path: &Path, problem: SqliteProblem) -> String {
    let path = path.display();
    match problem {
        SqliteProblem::DiskFull => format!("the disk of {path} is full: free some space, and start again; what was recorded before is safe"),
        SqliteProblem::ReadOnly => format!("see that you may write to {path} and to its folder"),
        SqliteProblem::Busy => "another program holds the database; ralph waited and gave up: see what it is (`fuser` tells), and start again".to_owned(),
        SqliteProblem::DiskError => format!("the disk of {path} does not take what is written: is it full, over a limit, or broken? What was recorded before is safe"),
        SqliteProblem::Damaged | SqliteProblem::Other => {
            format!("nothing was deleted; look at {path} and the files beside it")
        }
    }
}

fn damaged_copy_hint(copy: &DamagedCopy) -> String {
    match copy {
        DamagedCopy::Saved(folder) => format!("nothing was deleted; a copy is kept in {}", folder.display()),
        DamagedCopy::NotSaved => "nothing was deleted and nothing was written".to_owned(),
    }
}

fn start_over_hint(path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    format!("put a backup in its place, or start anew: mv {folder} {folder}.damaged")
}
