//! The output formats that ralph can parse.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use ralph_util::suggest;

/// The format of an agent's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    Text,
    Claude,
    Codex,
    Amp,
    Cline,
    Opencode,
    Gemini,
    Qwen,
    Copilot,
    Goose,
    Cursor,
    Pi,
    Acp,
}

impl OutputFormat {
    pub const ALL: &[Self] = &[
        Self::Text,
        Self::Claude,
        Self::Codex,
        Self::Amp,
        Self::Cline,
        Self::Opencode,
        Self::Gemini,
        Self::Qwen,
        Self::Copilot,
        Self::Goose,
        Self::Cursor,
        Self::Pi,
        Self::Acp,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Amp => "amp",
            Self::Cline => "cline",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Copilot => "copilot",
            Self::Goose => "goose",
            Self::Cursor => "cursor",
            Self::Pi => "pi",
            Self::Acp => "acp",
        }
    }

    /// Returns whether every line is a JSON record. Plain text has no records.
    #[must_use]
    pub fn is_json(self) -> bool {
        self != Self::Text
    }

    /// Returns whether ralph exchanges messages with the agent on stdin, instead of writing only the prompt to it.
    #[must_use]
    pub fn is_conversation(self) -> bool {
        self == Self::Acp
    }

    /// Returns whether the agent ends its output with a final record. If that record is missing, the output was
    /// truncated, even if the exit code is 0.
    #[must_use]
    pub fn has_final_record(self) -> bool {
        match self {
            Self::Text => false,
            Self::Claude
            | Self::Codex
            | Self::Amp
            | Self::Cline
            | Self::Opencode
            | Self::Gemini
            | Self::Qwen
            | Self::Copilot
            | Self::Goose
            | Self::Cursor
            | Self::Pi
            | Self::Acp => true,
        }
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unknown output format name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no output format named {name:?}")]
pub struct UnknownOutputFormat {
    name: String,
}

impl UnknownOutputFormat {
    /// Returns a hint that suggests a valid name.
    pub fn hint(&self) -> String {
        let names: Vec<_> = OutputFormat::ALL.iter().map(|format| format.name()).collect();
        suggest::suggestion_hint(&self.name, &names)
    }
}

impl FromStr for OutputFormat {
    type Err = UnknownOutputFormat;

    fn from_str(name: &str) -> Result<Self, UnknownOutputFormat> {
        let found = Self::ALL.iter().copied().find(|format| format.name() == name);
        found.ok_or_else(|| UnknownOutputFormat { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A2
    fn every_format_is_found_by_its_own_name() {
        for format in OutputFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(*format));
        }
    }

    #[test] // spec: A2
    fn an_unknown_format_is_refused_with_a_hint() {
        let error = "cluade".parse::<OutputFormat>().unwrap_err();
        assert_eq!(error.to_string(), "there is no output format named \"cluade\"");
        assert_eq!(error.hint(), "did you mean claude?");
        let error = "json".parse::<OutputFormat>().unwrap_err();
        assert_eq!(
            error.hint(),
            "choose one of text, claude, codex, amp, cline, opencode, gemini, qwen, copilot, goose, cursor, pi, acp"
        );
    }
}
