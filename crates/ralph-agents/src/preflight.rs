//! What is surely in the way of a start, told before it: some agents hang, or fail without saying why.

/// What an adapter must know about the world around the agent. Whoever calls looks it up.
#[derive(Clone, Copy)]
pub struct LaunchEnvironment<'a> {
    /// Whether we are root.
    pub is_root: bool,
    /// Whether a variable will be set, and not empty, for the agent.
    pub has_variable: &'a dyn Fn(&str) -> bool,
}

/// Why a start cannot succeed, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct LaunchBlocker {
    pub problem: String,
    pub hint: String,
}

impl LaunchBlocker {
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: what.into(), hint: hint.into() }
    }
}
