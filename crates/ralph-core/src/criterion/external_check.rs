//! An external check: a command that must succeed.
use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::CheckCommand;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalCheck {
    pub command: CheckCommand,
    pub success_exit_code: i32,
    pub output_contains: Option<String>,
    pub output_not_contains: Option<String>,
    pub timeout_ms: u64,
    /// Where it runs, below the work tree; without it, in its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Variables for it, over those that ralph has itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl ExternalCheck {
    /// How long a check may take where nothing else is said.
    pub const DEFAULT_TIMEOUT_MS: u64 = 300_000;

    /// Returns the check that `--check COMMAND` means.
    #[must_use]
    pub fn from_shell_text(command: &str) -> Self {
        Self::new(CheckCommand::from(command))
    }

    #[must_use]
    pub fn new(command: CheckCommand) -> Self {
        Self {
            command,
            success_exit_code: 0,
            output_contains: None,
            output_not_contains: None,
            timeout_ms: Self::DEFAULT_TIMEOUT_MS,
            working_dir: None,
            env: BTreeMap::new(),
        }
    }
}
