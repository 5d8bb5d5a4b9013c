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
use ralph_engine::engine::EngineError;
use ralph_engine::lock::{LockError, Owner};
use ralph_engine::project::ProjectError;
use ralph_engine::tree::TreeError;
use ralph_store::{Kept, StoreError, Trouble};
use ralph_util::private::Foreign;
use ralph_util::sanitize::visible;

/// An error on its way to the user.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    pub causes: Vec<String>,
    pub hints: Vec<String>,
    pub exit_code: u8,
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl Failure {
    /// Wraps an error with its causes.
    pub fn new(exit_code: u8, error: &(dyn Error + 'static)) -> Self {
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
    pub fn usage(message: impl Display) -> Self {
        Self::plain(exit_code::USAGE, message)
    }

    /// Something that a run needs is missing.
    pub fn preflight(message: impl Display) -> Self {
        Self::plain(exit_code::PREFLIGHT, message)
    }

    pub fn plain(exit_code: u8, message: impl Display) -> Self {
        Self { message: message.to_string(), causes: Vec::new(), hints: Vec::new(), exit_code }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    #[must_use]
    pub fn cause(mut self, cause: impl Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        let failure = Self::new(exit_code::PREFLIGHT, &error);
        match &error {
            ProjectError::NoRepository { .. } => {
                failure.hint("agents work in a git repository: go to one, or make one with `git init`")
            }
            ProjectError::NoFolder { .. } => {
                failure.hint("the folder may have been removed: `cd` to another")
            }
            ProjectError::LeadsOut { link, .. } => {
                Self { exit_code: exit_code::STATE, ..failure }.hint(format!(
                    "nothing was written there; to use it nonetheless, take the link out of the repository: git rm --cached {}",
                    link.display()
                ))
            }
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let failure = Self::preflight(&error);
        error.hint.into_iter().fold(failure, Self::hint)
    }
}

impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        let failure = Self::preflight(&error);
        error.hint.into_iter().fold(failure, Self::hint)
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        let failure = Self::new(exit_code::PREFLIGHT, &error);
        match &error {
            TrustError::NoHome => failure.hint("set HOME"),
            TrustError::Malformed { path, .. } => {
                failure.hint(format!("move {} away; approvals must then be given again", path.display()))
            }
            TrustError::Newer { .. } => failure.hint("update ralph"),
            TrustError::Unreadable { path, .. } | TrustError::Unwritable { path, .. } => {
                failure.hint(format!("look at {} and its folder", path.display()))
            }
        }
    }
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        let failure = Self::new(exit_code::PREFLIGHT, &error);
        match &error {
            InstallError::UnknownHost { near, .. } => {
                Self { exit_code: exit_code::USAGE, ..failure }.hint(match near {
                    Some(near) => format!("did you mean {near}?"),
                    None => "hosts are claude, codex, gemini, qwen, copilot and opencode".to_owned(),
                })
            }
            InstallError::NoHome { variable } => failure.hint(format!("set {variable}")),
            InstallError::Settings { .. } => {
                failure.hint("nothing was changed; mend that place, and run it again")
            }
            InstallError::Foreign { path } => {
                failure.hint(format!("nothing was changed; move {} away, and run it again", path.display()))
            }
            InstallError::Unfit { .. } | InstallError::Unreadable { .. } | InstallError::Own { .. } => {
                failure.hint("nothing was changed")
            }
            InstallError::Unwritable { .. } => {
                failure.hint("what had been changed was put back; look at its folder, its owner and its disk")
            }
            InstallError::Half { .. } => failure
                .hint("when it can be written again, run this again, or `ralph uninstall`: nothing is lost"),
            InstallError::Left { .. } => failure.hint("everything else is done; run it again"),
            InstallError::Record { path, .. } => failure.hint(format!(
                "nothing was changed; move {} away: ralph then takes out what it recognises",
                path.display()
            )),
            InstallError::Newer { .. } => failure.hint("nothing was changed; update ralph"),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let failure = Self::new(exit_code::STATE, &error);
        match &error {
            StoreError::Folder { path, source } => failure.hint(unusable(path, source)),
            StoreError::Database { path, source } => failure.hint(database(path, Trouble::of(source))),
            StoreError::Damaged { path, kept, .. } => {
                failure.hint(kept_where(kept)).hint(start_anew(path))
            }
            StoreError::Changed { kept, .. } => failure.hint(kept_where(kept)).hint(
                "the agent may have written to .ralph/state; the run was stopped, and nothing more was recorded",
            ),
            StoreError::Gone { .. } => failure.hint(
                "the agent may have cleaned too much: `git clean -x` removes .ralph/state; the run was stopped",
            ),
            StoreError::TakenOver { owner, .. } => {
                let by = owner.as_deref().and_then(Owner::parse);
                let failure = by.into_iter().fold(failure, |failure, by| failure.cause(format!("it is {by}")));
                failure.hint("this one has stopped its agent and recorded nothing more; `ralph show` has the run")
            }
            StoreError::LeaseLost { .. } => failure
                .hint("this one has stopped its agent and recorded nothing more; `ralph status` shows who works on it"),
            StoreError::LeaseTaken { .. } => Self { exit_code: exit_code::PREFLIGHT, ..failure }
                .hint("nothing was begun; `ralph status` shows who works on it"),
            StoreError::Copy { .. } => Self { exit_code: exit_code::PREFLIGHT, ..failure }
                .hint("name a file that is not there yet, in a folder that you can write to"),
            StoreError::Newer { .. } => failure.hint("update ralph; the database was not touched"),
            StoreError::Older { path, .. } => failure.hint(format!(
                "see that you may write to {} and its folder, or copy the project to where you may: it is then brought \
                 up to date by itself",
                path.display()
            )),
            StoreError::Unreadable { .. } => failure.hint("nothing was deleted; please report this"),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Lock(error) => error.into(),
            EngineError::Settings { .. } => Self::new(exit_code::PREFLIGHT, &error),
            EngineError::Notes { .. } => Self::new(exit_code::STATE, &error)
                .hint("it must be possible to write into the folder of the notes"),
            EngineError::Folder { ref path, ref source } => {
                Self::new(exit_code::STATE, &error).hint(unusable(path, source))
            }
            EngineError::Workspace { .. } => {
                Self::new(exit_code::STATE, &error).hint("the agent removed it; git may still have the files")
            }
            EngineError::Signals { .. } => Self::new(exit_code::INTERNAL, &error),
        }
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        match &error {
            LockError::Taken { path, owner: Some(owner) } => Self::plain(
                exit_code::STATE,
                format!("another ralph is at work here: run {}, {owner}", owner.run),
            )
            .cause(format!("it has the lock {}", path.display()))
            .hint(format!("wait for it, or stop it with `kill {}`", owner.process.pid)),
            LockError::Taken { path, owner: None } => {
                Self::plain(exit_code::STATE, "other runs are at work here")
                    .cause(format!("they have the lock {}", path.display()))
                    .hint("`ralph runs` lists them; wait for them")
            }
            LockError::Unusable { path, .. } => Self::new(exit_code::STATE, &error)
                .hint(format!("make {} a file that you can write, or remove it", path.display())),
            LockError::NoLocks { .. } => Self::new(exit_code::STATE, &error)
                .hint("without them two runs could harm each other: keep the project on a local file system"),
        }
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        let code = if matches!(error, TreeError::Git(_)) {
            exit_code::GIT
        } else if matches!(error, TreeError::Folder { .. }) {
            exit_code::STATE
        } else {
            exit_code::PREFLIGHT
        };
        let failure = error.files().iter().fold(Self::new(code, &error), |failure, file| {
            failure.cause(visible(&file.display().to_string()))
        });
        if let TreeError::Folder { path, source } = &error {
            return failure.hint(unusable(path, source));
        }
        error.hint().into_iter().fold(failure, Self::hint)
    }
}

/// Returns what to do about a folder or file of our own that cannot be used.
fn unusable(path: &Path, error: &io::Error) -> String {
    match Foreign::of(error) {
        Some(Foreign { path, .. }) => format!(
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

fn database(path: &Path, trouble: Trouble) -> String {
    let path = path.display();
    match trouble {
        Trouble::Full => format!("the disk of {path} is full: free some space, and start again; what was recorded before is safe"),
        Trouble::ReadOnly => format!("see that you may write to {path} and to its folder"),
        Trouble::Busy => "another program holds the database; ralph waited and gave up: see what it is (`fuser` tells), and start again".to_owned(),
        Trouble::Disk => format!("the disk of {path} does not take what is written: is it full, over a limit, or broken? What was recorded before is safe"),
        Trouble::Damaged | Trouble::Other => {
            format!("nothing was deleted; look at {path} and the files beside it")
        }
    }
}

fn kept_where(kept: &Kept) -> String {
    match kept {
        Kept::Copy(folder) => format!("nothing was deleted; a copy is kept in {}", folder.display()),
        Kept::InPlace => "nothing was deleted and nothing was written".to_owned(),
    }
}

fn start_anew(path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    format!("put a backup in its place, or start anew: mv {folder} {folder}.damaged")
}
