//! What is wrong with a task that somebody wrote, where, and what to write instead.
use ralph_util::sanitize::sanitize;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct TaskError {
    /// `FILE:LINE:COLUMN`, or a flag.
    pub place: String,
    /// The field and what is wrong with it.
    pub what: String,
    pub hint: Option<String>,
}

/// Longer messages are mostly what was written.
const LONGEST: usize = 300;

impl TaskError {
    pub(super) fn new(place: impl Into<String>, what: &str) -> Self {
        let line = sanitize(what).replace('\n', " ");
        let what = match line.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
            None => line,
        };
        Self { place: place.into(), what, hint: None }
    }

    /// A file that cannot be read.
    #[must_use]
    pub fn unreadable(name: &str, error: &std::io::Error) -> Self {
        Self::new(name, &format!("it cannot be read: {error}"))
    }

    #[must_use]
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
