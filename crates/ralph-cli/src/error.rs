//! The error type of all commands: message, causes, hints, and the exit code.
use std::error::Error;
use std::fmt::{self, Display};

use ralph_agents::install::InstallError;
use ralph_app::config::ConfigError;
use ralph_app::error::AppError;
use ralph_app::task_files::TaskError;
use ralph_app::trust::TrustError;
use ralph_core::outcome::exit_code;
use ralph_engine::lock::LockError;
use ralph_engine::project::ProjectError;
use ralph_engine::run_driver::EngineError;
use ralph_engine::worktree::WorktreeError;
use ralph_store::StoreError;

use crate::hints;

/// An error as the user sees it.
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
            // Some errors already contain the text of their cause.
            if !causes.last().is_some_and(|previous| previous.ends_with(&text)) {
                causes.push(text);
            }
            source = cause.source();
        }
        Self { message: error.to_string(), causes, hints: Vec::new(), exit_code }
    }

    /// Creates an error about invalid arguments.
    pub fn usage_error(message: impl Display) -> Self {
        Self::from_message(exit_code::USAGE_ERROR, message)
    }

    /// Creates an error about something that is missing or unusable before a run starts.
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

impl From<AppError> for CommandError {
    fn from(error: AppError) -> Self {
        let hints = hints::for_error(&error);
        Self { message: error.message, causes: error.causes, hints, exit_code: error.kind.exit_code() }
    }
}

/// Converts errors of lower layers through `AppError`, so that they get its exit codes and hints.
macro_rules! from_lower_layer {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                AppError::from(error).into()
            }
        })+
    };
}

from_lower_layer!(
    ProjectError,
    ConfigError,
    TaskError,
    TrustError,
    InstallError,
    StoreError,
    EngineError,
    LockError,
    WorktreeError,
);
