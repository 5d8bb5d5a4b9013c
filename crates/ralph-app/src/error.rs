//! The error of every use case: what failed, why, and what a person can do about it. It knows no flags; each screen adds its
//! own words for the advice.
use std::error::Error;
use std::fmt::{self, Display};

use ralph_agents::install::InstallError;
use ralph_core::outcome::exit_code;
use ralph_engine::git::GitError;
use ralph_engine::lock::{LockError, RunOwner};
use ralph_engine::project::ProjectError;
use ralph_engine::run_driver::EngineError;
use ralph_engine::session_driver::LoopStoreError;
use ralph_engine::worktree::WorktreeError;
use ralph_store::StoreError;
use ralph_util::sanitize::escape_hidden;

use crate::advice::Advice;
use crate::config::ConfigError;
use crate::task_files::TaskError;
use crate::trust::TrustError;

pub type AppResult<T> = Result<T, AppError>;

/// Which part of the work failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request itself is wrong.
    InvalidRequest,
    /// The request names something that does not exist.
    NotFound,
    /// Something that the work needs is missing or not as it must be.
    Preflight,
    /// A build was requested without an implementation plan.
    PlanMissing,
    /// A git command failed.
    GitFailed,
    /// The stored state or the work tree is unusable or locked.
    StateUnusable,
    /// A fault inside ralph.
    Internal,
}

impl ErrorKind {
    /// Returns the exit code that the command line ends with, and that the session log of an aborted run records.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::InvalidRequest | Self::NotFound => exit_code::USAGE_ERROR,
            Self::Preflight => exit_code::PREFLIGHT_FAILED,
            Self::PlanMissing => exit_code::NO_PLAN,
            Self::GitFailed => exit_code::GIT_FAILED,
            Self::StateUnusable => exit_code::STATE_UNUSABLE,
            Self::Internal => exit_code::INTERNAL_ERROR,
        }
    }
}

/// A failed use case.
#[derive(Debug)]
pub struct AppError {
    pub kind: ErrorKind,
    pub message: String,
    pub causes: Vec<String>,
    pub advice: Vec<Advice>,
    /// The error of a lower layer, where that is what failed: a screen knows what to do about it.
    pub origin: Option<Box<ErrorOrigin>>,
}

/// Errors of the lower layers that reach a person as they are.
#[derive(Debug)]
pub enum ErrorOrigin {
    Project(ProjectError),
    Trust(TrustError),
    Install(InstallError),
    Store(StoreError),
    Engine(EngineError),
    Lock(LockError),
    Worktree(WorktreeError),
    SessionLoop(LoopStoreError),
}

impl Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl Error for AppError {}

impl AppError {
    pub fn from_message(kind: ErrorKind, message: impl Display) -> Self {
        Self { kind, message: message.to_string(), causes: Vec::new(), advice: Vec::new(), origin: None }
    }

    /// Takes the message of an error, and those of its sources as causes.
    pub fn from_error(kind: ErrorKind, error: &(dyn Error + 'static)) -> Self {
        Self { causes: source_messages(error), ..Self::from_message(kind, error) }
    }

    pub fn invalid_request(message: impl Display) -> Self {
        Self::from_message(ErrorKind::InvalidRequest, message)
    }

    pub fn not_found(message: impl Display) -> Self {
        Self::from_message(ErrorKind::NotFound, message)
    }

    pub fn preflight(message: impl Display) -> Self {
        Self::from_message(ErrorKind::Preflight, message)
    }

    pub fn internal(error: &(dyn Error + 'static)) -> Self {
        Self::from_error(ErrorKind::Internal, error)
    }

    #[must_use]
    pub fn with_cause(mut self, cause: impl Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<Advice>) -> Self {
        self.advice.push(advice.into());
        self
    }

    fn from_origin(kind: ErrorKind, origin: ErrorOrigin) -> Self {
        let error: &(dyn Error + 'static) = match &origin {
            ErrorOrigin::Project(error) => error,
            ErrorOrigin::Trust(error) => error,
            ErrorOrigin::Install(error) => error,
            ErrorOrigin::Store(error) => error,
            ErrorOrigin::Engine(error) => error,
            ErrorOrigin::Lock(error) => error,
            ErrorOrigin::Worktree(error) => error,
            ErrorOrigin::SessionLoop(error) => error,
        };
        Self { origin: None, ..Self::from_error(kind, error) }.with_origin(origin)
    }

    fn with_origin(self, origin: ErrorOrigin) -> Self {
        Self { origin: Some(Box::new(origin)), ..self }
    }
}

/// Returns the messages of the sources of an error, without those that their parent already quotes.
fn source_messages(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !messages.last().is_some_and(|parent| parent.ends_with(&text)) {
            messages.push(text);
        }
        source = cause.source();
    }
    messages
}

impl From<ProjectError> for AppError {
    fn from(error: ProjectError) -> Self {
        let kind = match &error {
            ProjectError::NoRepository { .. } | ProjectError::NoFolder { .. } => ErrorKind::Preflight,
            ProjectError::LinkLeadsOut { .. } | ProjectError::NoState { .. } => ErrorKind::StateUnusable,
        };
        Self::from_origin(kind, ErrorOrigin::Project(error))
    }
}

impl From<ConfigError> for AppError {
    fn from(error: ConfigError) -> Self {
        let failure = Self::preflight(&error);
        error.hint.into_iter().fold(failure, Self::with_advice)
    }
}

impl From<TaskError> for AppError {
    fn from(error: TaskError) -> Self {
        let failure = Self::preflight(&error);
        error.hint.into_iter().fold(failure, Self::with_advice)
    }
}

impl From<TrustError> for AppError {
    fn from(error: TrustError) -> Self {
        Self::from_origin(ErrorKind::Preflight, ErrorOrigin::Trust(error))
    }
}

impl From<InstallError> for AppError {
    fn from(error: InstallError) -> Self {
        let kind = match &error {
            InstallError::UnknownHost { .. } => ErrorKind::InvalidRequest,
            _ => ErrorKind::Preflight,
        };
        Self::from_origin(kind, ErrorOrigin::Install(error))
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::LeaseTaken { .. } | StoreError::BackupFailed { .. } => ErrorKind::Preflight,
            _ => ErrorKind::StateUnusable,
        };
        let owner = match &error {
            StoreError::TakenOver { owner, .. } => owner.as_deref().and_then(RunOwner::parse),
            _ => None,
        };
        let failure = Self::from_origin(kind, ErrorOrigin::Store(error));
        owner.into_iter().fold(failure, |failure, owner| failure.with_cause(format!("it is {owner}")))
    }
}

impl From<EngineError> for AppError {
    fn from(error: EngineError) -> Self {
        let kind = match error {
            EngineError::Store(error) => return error.into(),
            EngineError::Lock(error) => return error.into(),
            EngineError::RunSpec { .. } => ErrorKind::Preflight,
            EngineError::Notes { .. } | EngineError::Folder { .. } => ErrorKind::StateUnusable,
            EngineError::Signals { .. } => ErrorKind::Internal,
        };
        Self::from_origin(kind, ErrorOrigin::Engine(error))
    }
}

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        let failure = match &error {
            LockError::Taken { path, owner: Some(owner) } => Self::from_message(
                ErrorKind::StateUnusable,
                format!("another ralph is working here: run {}, {owner}", owner.run),
            )
            .with_cause(format!("it holds the lock {}", path.display())),
            LockError::Taken { path, owner: None } => {
                Self::from_message(ErrorKind::StateUnusable, "other runs are working here")
                    .with_cause(format!("they hold the lock {}", path.display()))
            }
            LockError::CannotOpen { .. } | LockError::Unsupported { .. } => {
                Self::from_error(ErrorKind::StateUnusable, &error)
            }
        };
        failure.with_origin(ErrorOrigin::Lock(error))
    }
}

impl From<WorktreeError> for AppError {
    fn from(error: WorktreeError) -> Self {
        let kind = match &error {
            WorktreeError::Git(_) => ErrorKind::GitFailed,
            WorktreeError::Folder { .. } => ErrorKind::StateUnusable,
            _ => ErrorKind::Preflight,
        };
        let files: Vec<String> = error.files().iter().map(|file| escape_hidden(&file.display().to_string())).collect();
        files.into_iter().fold(Self::from_origin(kind, ErrorOrigin::Worktree(error)), Self::with_cause)
    }
}

impl From<LoopStoreError> for AppError {
    fn from(error: LoopStoreError) -> Self {
        Self::from_origin(ErrorKind::StateUnusable, ErrorOrigin::SessionLoop(error))
    }
}

impl From<GitError> for AppError {
    fn from(error: GitError) -> Self {
        Self::from_error(ErrorKind::GitFailed, &error)
    }
}
