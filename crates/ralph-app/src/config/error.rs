//! What is wrong with the configuration, where, and what to write instead.
use ralph_util::sanitize::sanitize_text;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ConfigError {
    /// `FILE:LINE:COLUMN`, a variable or a flag; of what was in no file, the part that is to blame.
    pub place: String,
    pub message: String,
    pub hint: Option<String>,
}

/// Longer messages are mostly what was written.
const MAX_MESSAGE_CHARS: usize = 300;

/// The same without its place: what a value's parser knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueError {
    pub message: String,
    pub hint: Option<String>,
    /// The part of the value that is to blame, as a path; empty for all of it.
    pub part: String,
}

impl ValueError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, part: String::new() }
    }

    pub(super) fn with_part(self, part: impl Into<String>) -> Self {
        Self { part: part.into(), ..self }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Makes an error of it that is safe to show: what was written may hold anything.
    pub(super) fn at_place(self, place: impl Into<String>) -> ConfigError {
        ConfigError { place: place.into(), message: shorten_message(&self.message), hint: self.hint }
    }
}

fn shorten_message(message: &str) -> String {
    let line = sanitize_text(message).replace('\n', " ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: U1
    fn a_message_is_one_line_of_bounded_length_that_does_nothing_to_a_terminal() {
        let error = ValueError::new(format!("key \u{1b}[2J\n{}", "x".repeat(1_000_000))).at_place("f:1");
        assert!(error.message.starts_with("key  xxx") && error.message.ends_with("x …"), "{error}");
        assert_eq!(error.message.chars().count(), MAX_MESSAGE_CHARS + 2);
    }
}
