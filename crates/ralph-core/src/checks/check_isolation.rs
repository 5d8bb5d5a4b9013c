//! Where the checks of a claim run.
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckIsolation {
    /// In the work tree, including uncommitted files.
    #[default]
    Workspace,
    /// In a fresh checkout of the claimed commit.
    Clean,
}

impl CheckIsolation {
    pub const ALL: [Self; 2] = [Self::Workspace, Self::Clean];

    /// Returns the name used in configuration and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Clean => "clean",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|isolation| isolation.as_str() == text)
    }
}
