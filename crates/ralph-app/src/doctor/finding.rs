//! One thing that was looked at, and how it is.
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Good,
    /// It is so, and nothing is wrong with it.
    Note,
    /// It may go wrong.
    Warning,
    /// It will go wrong.
    Bad,
}

impl Status {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at: `version`, `login`, `git` …
    pub name: &'static str,
    pub status: Status,
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    pub(super) fn new(name: &'static str, status: Status, what: impl Into<String>) -> Self {
        Self { name, status, what: what.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Returns the worst of all.
#[must_use]
pub fn worst<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Status {
    findings.into_iter().map(|finding| finding.status).max().unwrap_or(Status::Good)
}
