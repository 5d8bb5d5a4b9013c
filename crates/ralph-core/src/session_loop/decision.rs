//! The decision for one event of a session.
use alloc::string::String;
use alloc::vec::Vec;

use super::notice::SessionNotice;
use crate::fact::Fact;

#[derive(Debug, Clone, PartialEq)]
pub struct SessionDecision {
    pub action: SessionAction,
    pub notices: Vec<SessionNotice>,
    /// The facts to store.
    pub facts: Vec<Fact>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionAction {
    /// The session may stop, or has stopped.
    AllowStop,
    /// The session continues with this prompt.
    Continue { prompt: String },
    /// The claim must be checked first. The result is reported as [`super::SessionLoopEvent::Verified`].
    RunChecks,
}

impl SessionDecision {
    /// Lets the session stop, without a notice.
    #[must_use]
    pub fn allow_silently() -> Self {
        Self { action: SessionAction::AllowStop, notices: Vec::new(), facts: Vec::new() }
    }
}
