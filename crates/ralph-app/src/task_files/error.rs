//! Errors of task files: position, message and hint.
use crate::advice::Advice;
use ralph_util::sanitize::sanitize_text;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct TaskError {
    /// `FILE:LINE:COLUMN`, or a flag.
    pub place: String,
    /// The field and the problem.
    pub message: String,
    pub hint: Option<Advice>,
}

/// Maximum length of a message. Longer ones consist mostly of the quoted value.
const MAX_MESSAGE_CHARS: usize = 300;

impl TaskError {
    pub(super) fn new(place: impl Into<String>, message: &str) -> Self {
        let line = sanitize_text(message).replace('\n', " ");
        let message = match line.char_indices().nth(MAX_MESSAGE_CHARS) {
            Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
            None => line,
        };
        Self { place: place.into(), message, hint: None }
    }

    /// Returns the error for a file that cannot be read.
    #[must_use]
    pub fn unreadable_file(name: &str, error: &std::io::Error) -> Self {
        Self::new(name, &format!("cannot read the file: {error}"))
    }

    #[must_use]
    pub(super) fn with_hint(self, hint: impl Into<Advice>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
