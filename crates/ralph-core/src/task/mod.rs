//! Tasks: units of work with an id, a status and a definition of done. Fields are stored as written, so that an export
//! equals the import. [`resolve_stage`] applies the defaults for one role.
mod approval;
mod definition;
mod dependency_graph;
mod generation_prompt;
mod role;
mod stage;
mod stuck_task;
mod task_id;
mod task_status;
mod validation;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use approval::approval_items::{ApprovalItem, completion_terms, started_programs};
pub use approval::task_approval::{Approval, TaskAuthor};
pub use definition::completion_spec::{CompletionSpec, RoleSpec};
pub use definition::method_name::MethodName;
pub use definition::timeout_spec::TimeoutSpec;
pub use definition::verification_config::{
    ACCEPTANCE_PLACEHOLDER, CheckForSpec, OneOrMany, StageSpec, VerificationConfig,
};
pub use dependency_graph::{DependencyError, find_dependency_error, unmet_dependencies};
pub use generation_prompt::{TaskGenerationPrompt, session_generation_prompt};
pub use role::Role;
pub use stage::resolve_stage::{ProjectChecks, ResolvedStage, RoleRules, TemplateResolver, resolve_stage};
pub use stage::stage_prompt::{Specification, StagePrompt};
pub use stuck_task::{AwaitedTask, StuckReason, stuck_reason};
pub use task_id::{is_valid_id, to_slug};
pub use task_status::TaskStatus;
pub use validation::missing_proof::{MissingProof, find_missing_proof};
pub use validation::task_problem::TaskProblem;
pub use validation::validate_task::validate_task;

/// A task as written, and its status. Fields that are not written are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_id: Option<String>,
    /// The file with the specification, relative to the project. By default it is named after `spec_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_file: Option<String>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "TaskStatus::is_todo")]
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// The definition of done. Without it, only the agent's claim and the project checks decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<CompletionSpec>,
}

impl Task {
    /// The priority of a task without one. 1 is the highest priority.
    pub const DEFAULT_PRIORITY: u32 = 3;

    #[must_use]
    pub fn priority(&self) -> u32 {
        self.priority.unwrap_or(Self::DEFAULT_PRIORITY)
    }

    #[must_use]
    pub fn dependencies(&self) -> &[String] {
        self.dependencies.as_deref().unwrap_or_default()
    }
}
