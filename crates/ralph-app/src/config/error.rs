//! Errors of the configuration: position, message and hint.
use crate::advice::Advice;
use ralph_util::sanitize::sanitize_text;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ConfigError {
    /// `FILE:LINE:COLUMN`, a variable or a flag; for values without a source, the faulty part.
    pub place: String,
    pub message: String,
    pub hint: Option<Advice>,
}

/// Maximum length of a message. Longer ones consist mostly of the quoted value.
const MAX_MESSAGE_CHARS: usize = 300;

/// An error without its position, as the parser of a value returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct ValueError {
    pub message: String,
    pub hint: Option<Advice>,
    /// The path of the faulty part within the value; empty for the whole value.
    pub part: String,
}

impl ValueError {
    pub(in crate::config) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, part: String::new() }
    }

    pub(in crate::config) fn with_part(self, part: impl Into<String>) -> Self {
        Self { part: part.into(), ..self }
    }

    pub(in crate::config) fn with_hint(mut self, hint: impl Into<Advice>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the position, and makes the message safe to print: it may quote arbitrary input.
    pub(in crate::config) fn at_place(self, place: impl Into<String>) -> ConfigError {
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
    fn a_message_is_one_line_of_bounded_length_without_terminal_sequences() {
        let error = ValueError::new(format!("key \u{1b}[2J\n{}", "x".repeat(1_000_000))).at_place("f:1");
        assert!(error.message.starts_with("key  xxx") && error.message.ends_with("x …"), "{error}");
        assert_eq!(error.message.chars().count(), MAX_MESSAGE_CHARS + 2);
    }
}
