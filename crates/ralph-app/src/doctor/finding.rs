//! A finding of `ralph doctor`.
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingStatus {
    Good,
    /// Information, not a problem.
    Note,
    /// May cause a failure.
    Warning,
    /// Will cause a failure.
    Bad,
}

impl FindingStatus {
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
pub struct DoctorFinding {
    /// The checked item: `version`, `login`, `git` …
    pub name: &'static str,
    pub status: FindingStatus,
    pub what: String,
    /// How to fix it.
    pub hint: Option<String>,
}

impl DoctorFinding {
    pub(super) fn new(name: &'static str, status: FindingStatus, what: impl Into<String>) -> Self {
        Self { name, status, what: what.into(), hint: None }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Returns the worst status of the findings.
#[must_use]
pub fn worst_status<'a>(findings: impl IntoIterator<Item = &'a DoctorFinding>) -> FindingStatus {
    findings.into_iter().map(|finding| finding.status).max().unwrap_or(FindingStatus::Good)
}
