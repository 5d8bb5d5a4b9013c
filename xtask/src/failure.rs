//! How a command fails: what was seen, what went wrong, and what to do about it.
use std::fmt;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    details: String,
    says: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(says: impl Into<String>) -> Self {
        Self { details: String::new(), says: says.into(), hint: None }
    }

    /// Wraps an error of the system with what was being done.
    pub(crate) fn of(doing: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::new(format!("{doing}: {error}"))
    }

    /// Adds what is shown before the error itself.
    pub(crate) fn details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.details.is_empty() {
            writeln!(f, "{}\n", self.details)?;
        }
        write!(f, "error: {}", self.says)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}
