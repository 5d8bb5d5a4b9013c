//! The error of a command: details, message and hint.
use std::fmt;

pub(crate) type Result<T> = std::result::Result<T, XtaskError>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct XtaskError {
    details: String,
    message: String,
    hint: Option<String>,
}

impl XtaskError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { details: String::new(), message: message.into(), hint: None }
    }

    /// Returns an error with context and cause.
    pub(crate) fn with_cause(context: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::new(format!("{context}: {error}"))
    }

    /// Adds text that is printed before the message.
    pub(crate) fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for XtaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.details.is_empty() {
            writeln!(f, "{}\n", self.details)?;
        }
        write!(f, "error: {}", self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}
