//! A validation error of a task, with a hint how to fix it.
use alloc::format;
use alloc::string::String;

/// An invalid field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct TaskProblem {
    /// The path of the field, with list positions as numbers: `completion.qa.verification_config.stages.0.config`.
    pub field: String,
    pub message: String,
    pub hint: String,
}

impl TaskProblem {
    pub fn new(field: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), hint: hint.into() }
    }

    /// Prepends a path to the field.
    #[must_use]
    pub fn nested_under(self, path: &str) -> Self {
        Self { field: format!("{path}.{}", self.field), ..self }
    }
}
