//! The names of the verification methods.
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodName {
    StringMatch,
    Semantic,
    External,
    MultiStage,
    Plugin,
}

impl MethodName {
    pub const ALL: [Self; 5] = [Self::StringMatch, Self::Semantic, Self::External, Self::MultiStage, Self::Plugin];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StringMatch => "string_match",
            Self::Semantic => "semantic",
            Self::External => "external",
            Self::MultiStage => "multi_stage",
            Self::Plugin => "plugin",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == text)
    }
}
