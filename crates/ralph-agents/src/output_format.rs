//! The output formats that can be read.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use ralph_util::suggest;

/// How an agent writes what it does.
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
            Self::Acp => "acp",
        }
    }

    /// Tells whether every line is a record. Plain text has none that could be missing.
    #[must_use]
    pub fn is_json(self) -> bool {
        self != Self::Text
    }

    /// Tells whether the agent is talked to over its standard input, instead of finding the prompt there.
    #[must_use]
    pub fn is_conversation(self) -> bool {
        self == Self::Acp
    }

    /// Tells whether the agent's last record says that it is done. Where it is missing the agent was cut off, however
    /// well it exited.
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
            | Self::Acp => true,
        }
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A format name that means nothing here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no output format named {name:?}")]
pub struct UnknownOutputFormat {
    name: String,
}

impl UnknownOutputFormat {
    /// Says what to write instead.
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
            "choose one of text, claude, codex, amp, cline, opencode, gemini, qwen, copilot, goose, acp"
        );
    }
}
