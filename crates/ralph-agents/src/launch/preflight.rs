//! Problems that are detected before a start, because the agent would hang or fail without a reason.

/// The facts about the agent's environment that an adapter needs. The caller looks them up.
#[derive(Clone, Copy)]
pub struct LaunchEnvironment<'a> {
    /// Whether ralph runs as root.
    pub is_root: bool,
    /// Returns whether a variable will be set and not empty for the agent.
    pub has_variable: &'a dyn Fn(&str) -> bool,
}

/// Why a start cannot succeed, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct LaunchBlocker {
    pub problem: String,
    pub hint: String,
}

impl LaunchBlocker {
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }
}
