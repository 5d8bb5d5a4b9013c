//! What is wrong with the configuration, where, and what to write instead.
use ralph_util::sanitize::sanitize;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ConfigError {
    /// `FILE:LINE:COLUMN`, a variable or a flag; of what was in no file, the part that is to blame.
    pub place: String,
    pub what: String,
    pub hint: Option<String>,
}

/// Longer messages are mostly what was written.
const LONGEST: usize = 300;

/// The same without its place: what a value's parser knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub what: String,
    pub hint: Option<String>,
    /// The part of the value that is to blame, as a path; empty for all of it.
    pub part: String,
}

impl Refusal {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, part: String::new() }
    }

    pub(super) fn part(self, part: impl Into<String>) -> Self {
        Self { part: part.into(), ..self }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Makes an error of it that is safe to show: what was written may hold anything.
    pub(super) fn at(self, place: impl Into<String>) -> ConfigError {
        ConfigError { place: place.into(), what: shortened(&self.what), hint: self.hint }
    }
}

fn shortened(what: &str) -> String {
    let line = sanitize(what).replace('\n', " ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: U1
    fn a_message_is_one_line_of_bounded_length_that_does_nothing_to_a_terminal() {
        let error = Refusal::new(format!("key \u{1b}[2J\n{}", "x".repeat(1_000_000))).at("f:1");
        assert!(error.what.starts_with("key  xxx") && error.what.ends_with("x …"), "{error}");
        assert_eq!(error.what.chars().count(), LONGEST + 2);
    }
}
