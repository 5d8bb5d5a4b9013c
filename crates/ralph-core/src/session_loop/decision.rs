//! What the rules answer to a session.
use alloc::string::String;
use alloc::vec::Vec;

use super::notice::SessionNotice;
use crate::fact::Fact;

/// The answer to one event.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionDecision {
    pub action: SessionAction,
    pub notices: Vec<SessionNotice>,
    /// What is kept of the decision.
    pub facts: Vec<Fact>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionAction {
    /// The session does as it likes: it may stop, or it has stopped.
    AllowStop,
    /// The session goes on with this prompt.
    Continue { prompt: String },
    /// The claim must be checked first. What the checks saw comes back as [`super::Happening::Verified`].
    RunChecks,
}

impl SessionDecision {
    /// Lets the session be, and says nothing.
    #[must_use]
    pub fn allow_silently() -> Self {
        Self { action: SessionAction::AllowStop, notices: Vec::new(), facts: Vec::new() }
    }
}
