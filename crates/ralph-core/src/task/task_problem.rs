//! What is wrong with a task that was written, and what to write instead.
use alloc::format;
use alloc::string::String;

/// A field that cannot stay as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct TaskProblem {
    /// Its path: names joined by dots, places in lists by number: `completion.qa.verification_config.stages.0.config`.
    pub field: String,
    pub message: String,
    pub hint: String,
}

impl TaskProblem {
    pub fn new(field: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), hint: hint.into() }
    }

    /// Returns it as a problem of the whole in which its field stands at a path.
    #[must_use]
    pub fn nested_under(self, path: &str) -> Self {
        Self { field: format!("{path}.{}", self.field), ..self }
    }
}
