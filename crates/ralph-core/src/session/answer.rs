//! What the rules answer to a session.
use alloc::string::String;
use alloc::vec::Vec;

use super::notice::Notice;
use crate::fact::Fact;

/// The answer to one event.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub act: Act,
    pub notices: Vec<Notice>,
    /// What is kept of the decision.
    pub facts: Vec<Fact>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The session does as it likes: it may stop, or it has stopped.
    Allow,
    /// The session goes on with this prompt.
    Continue { prompt: String },
    /// The claim must be checked first. What the checks saw comes back as [`super::Happening::Verified`].
    Verify,
}

impl Answer {
    /// Lets the session be, and says nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self { act: Act::Allow, notices: Vec::new(), facts: Vec::new() }
    }
}
