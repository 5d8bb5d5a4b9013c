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
    /// The working directory, relative to the work tree. Default: the root of the work tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Environment variables, added to the environment of ralph.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl ExternalCheck {
    /// The default timeout of a check.
    pub const DEFAULT_TIMEOUT_MS: u64 = 300_000;

    /// Returns the check that `--check COMMAND` defines.
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
