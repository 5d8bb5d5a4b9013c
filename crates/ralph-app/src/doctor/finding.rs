//! A finding of `ralph doctor`.
use serde::Serialize;

use crate::advice::Advice;

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The checked item: `version`, `login`, `git` …
    pub name: &'static str,
    pub status: FindingStatus,
    pub message: String,
    /// How to fix it.
    pub advice: Option<Advice>,
}

impl DoctorFinding {
    pub(super) fn new(name: &'static str, status: FindingStatus, message: impl Into<String>) -> Self {
        Self { name, status, message: message.into(), advice: None }
    }

    pub(super) fn with_advice(self, advice: impl Into<Advice>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// Advice for a finding whose answer is a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoctorAdvice {
    /// Install the hooks again: these are outdated.
    UpdateHooks { host: &'static str, scope: &'static str },
    /// Install the hooks to see the whole error.
    InspectHooks { host: &'static str, scope: &'static str },
    /// The hooks are installed for the user and for the project: remove one of them.
    RemoveDuplicateHooks { host: &'static str },
    /// List the runs to see the whole error.
    InspectState,
    /// The disk is full: remove old logs.
    FreeDiskSpace,
    /// The disk is nearly full: remove old logs.
    LimitLogSize,
}

impl From<DoctorAdvice> for Advice {
    fn from(advice: DoctorAdvice) -> Self {
        Self::Doctor(advice)
    }
}

/// Returns the worst status of the findings.
#[must_use]
pub fn worst_status<'a>(findings: impl IntoIterator<Item = &'a DoctorFinding>) -> FindingStatus {
    findings.into_iter().map(|finding| finding.status).max().unwrap_or(FindingStatus::Good)
}
