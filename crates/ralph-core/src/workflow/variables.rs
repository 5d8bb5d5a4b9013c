//! The variables of a run, such as `$ARTIFACTS_DIR`.
use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

/// A variable that every text of a workflow may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowVariable {
    /// The message of the user.
    Arguments,
    /// The directory of the run, outside of the repository.
    ArtifactsDir,
    BaseBranch,
    /// The id of the run.
    WorkflowId,
    /// The directory of the project that outlives runs.
    StateDir,
    DocsDir,
    /// The text of an issue, if the caller gave one.
    Context,
    /// The answer of a person at the gate of an interactive loop.
    LoopUserInput,
    /// The output of the previous iteration.
    LoopPrevOutput,
    /// Why a person rejected.
    RejectionReason,
    /// The directory of the run that this run continues.
    AdoptedRunDir,
}

impl WorkflowVariable {
    pub const ALL: [Self; 11] = [
        Self::Arguments,
        Self::ArtifactsDir,
        Self::BaseBranch,
        Self::WorkflowId,
        Self::StateDir,
        Self::DocsDir,
        Self::Context,
        Self::LoopUserInput,
        Self::LoopPrevOutput,
        Self::RejectionReason,
        Self::AdoptedRunDir,
    ];

    /// The names of the variable, without the `$`. A script finds its value under each of them in its environment.
    #[must_use]
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Arguments => &["ARGUMENTS", "USER_MESSAGE"],
            Self::ArtifactsDir => &["ARTIFACTS_DIR"],
            Self::BaseBranch => &["BASE_BRANCH"],
            Self::WorkflowId => &["WORKFLOW_ID"],
            Self::StateDir => &["STATE_DIR"],
            Self::DocsDir => &["DOCS_DIR"],
            Self::Context => &["CONTEXT", "EXTERNAL_CONTEXT", "ISSUE_CONTEXT"],
            Self::LoopUserInput => &["LOOP_USER_INPUT"],
            Self::LoopPrevOutput => &["LOOP_PREV_OUTPUT"],
            Self::RejectionReason => &["REJECTION_REASON"],
            Self::AdoptedRunDir => &["ADOPTED_RUN_DIR"],
        }
    }

    /// The first name, for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.names().first().copied().unwrap_or_default()
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|variable| variable.names().contains(&name))
    }

    /// Whether ralph itself chooses the value: paths, ids and the base branch. Only these values may become part of
    /// program text, after [`is_plain_value`] has accepted them.
    #[must_use]
    pub fn is_set_by_engine(self) -> bool {
        match self {
            Self::ArtifactsDir
            | Self::BaseBranch
            | Self::WorkflowId
            | Self::StateDir
            | Self::DocsDir
            | Self::AdoptedRunDir => true,
            Self::Arguments | Self::Context | Self::LoopUserInput | Self::LoopPrevOutput | Self::RejectionReason => {
                false
            }
        }
    }
}

/// The values of the variables. A variable without a value is unknown: only the base branch may be, see
/// [`super::values::ValueError`].
pub type VariableValues = BTreeMap<WorkflowVariable, String>;

/// Whether a value means itself in the string literals of every language: no quotes, no escapes, no expansions, no
/// control characters.
#[must_use]
pub fn is_plain_value(value: &str) -> bool {
    !value.chars().any(|letter| letter.is_control() || "'\"`\\$".contains(letter))
}
