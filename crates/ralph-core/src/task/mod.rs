//! Tasks: pieces of work with an id, a status, and what done means for them. Everything is kept as people wrote it, so
//! that what comes in goes out unchanged; what follows from it for one role is settled by [`resolve`].
mod approval;
mod completion;
mod demand;
mod generate;
mod graph;
mod method;
mod name;
mod problem;
mod prompt;
mod resolve;
mod role;
mod starts;
mod status;
mod stuck;
mod time;
mod validate;
mod verification;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use approval::{Approval, Author};
pub use completion::{CompletionSpec, RoleSpec};
pub use demand::{Undecided, undecided};
pub use generate::{GeneratePrompt, session_prompt};
pub use graph::{Knot, find_knot, unmet};
pub use method::MethodName;
pub use name::{is_name, slug};
pub use problem::Problem;
pub use prompt::StagePrompt;
pub use resolve::{FromTemplate, ProjectChecks, Resolved, RoleRules, resolve};
pub use role::Role;
pub use starts::{Start, starts, terms};
pub use status::Status;
pub use stuck::{Awaited, stuck};
pub use time::WrittenTime;
pub use validate::validate;
pub use verification::{ACCEPTANCE, CheckFor, OneOrMore, StageSpec, VerificationConfig};

/// A task as it was written, and how far it is. What nobody wrote is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_id: Option<String>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Status::is_todo")]
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// Of a task without one nobody knows when it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<CompletionSpec>,
}

impl Task {
    /// The priority of a task that was given none. 1 comes first.
    pub const USUAL_PRIORITY: u32 = 3;

    #[must_use]
    pub fn priority(&self) -> u32 {
        self.priority.unwrap_or(Self::USUAL_PRIORITY)
    }

    #[must_use]
    pub fn dependencies(&self) -> &[String] {
        self.dependencies.as_deref().unwrap_or_default()
    }
}
