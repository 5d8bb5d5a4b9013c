//! The command of an external check.
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

/// A string runs in a shell. A list is a program and its arguments, started without a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CheckCommand {
    Shell(String),
    Argv(Vec<String>),
}

impl CheckCommand {
    /// Returns whether the command is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Shell(text) => text.trim().is_empty(),
            Self::Argv(words) => words.first().is_none_or(|program| program.trim().is_empty()),
        }
    }
}

impl From<&str> for CheckCommand {
    fn from(text: &str) -> Self {
        Self::Shell(text.to_owned())
    }
}

/// Formats the command for display: arguments that a shell would split or expand are quoted.
impl fmt::Display for CheckCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(text) => f.write_str(text.trim_end()),
            Self::Argv(words) => {
                for (position, word) in words.iter().enumerate() {
                    if position > 0 {
                        f.write_str(" ")?;
                    }
                    write_quoted_word(f, word)?;
                }
                Ok(())
            }
        }
    }
}

/// Hand-written because the `shlex` crate also quotes words such as `--flag=value`, which are easier to read as they
/// are.
fn write_quoted_word(f: &mut fmt::Formatter<'_>, word: &str) -> fmt::Result {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return f.write_str(word);
    }
    f.write_str("'")?;
    for (position, part) in word.split('\'').enumerate() {
        if position > 0 {
            f.write_str("'\\''")?;
        }
        f.write_str(part)?;
    }
    f.write_str("'")
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    // spec: V2
    #[test]
    fn a_list_is_displayed_with_shell_quoting() {
        let words = ["grep", "-q", "it's $HOME", ""].map(ToOwned::to_owned);
        assert_eq!(CheckCommand::Argv(words.into()).to_string(), "grep -q 'it'\\''s $HOME' ''");
        assert_eq!(CheckCommand::from("a && b\n").to_string(), "a && b");
    }

    // spec: V2
    #[test]
    fn a_string_and_a_list_are_stored_as_written() {
        for written in ["\"cargo test\"", "[\"cargo\",\"test\"]"] {
            let command: CheckCommand = serde_json::from_str(written).unwrap();
            assert_eq!(serde_json::to_string(&command).unwrap(), written);
            assert!(!command.is_empty());
        }
        assert!(CheckCommand::Argv(Vec::new()).is_empty() && CheckCommand::from(" ").is_empty());
    }
}
