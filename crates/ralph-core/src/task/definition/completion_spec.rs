//! The definition of done of a task, and the requirements for each role.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::check_isolation::CheckIsolation;
use crate::task::{MethodName, Role, VerificationConfig};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionSpec {
    /// The state of the project when the task is done. It should be measurable.
    pub outcome: String,
    /// At least one.
    pub acceptance_criteria: Vec<String>,
    /// Patterns of files that must not change, in addition to those of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Vec<String>>,
    /// Patterns of sealed files that may change, in addition to those of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_changes: Option<Vec<String>>,
    /// Where claims are checked. Overrides the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<CheckIsolation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coder: Option<RoleSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<RoleSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester: Option<RoleSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qa: Option<RoleSpec>,
}

/// The requirements for one role. Fields that are not written are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_method: Option<MethodName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_config: Option<VerificationConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
}

impl CompletionSpec {
    /// Returns whether it sets acceptance rules in addition to its criteria.
    #[must_use]
    pub fn has_acceptance_rules(&self) -> bool {
        self.guard.is_some() || self.allow_changes.is_some() || self.isolation.is_some()
    }

    /// Returns the requirements for a role.
    #[must_use]
    pub fn role_spec(&self, role: &Role) -> Option<&RoleSpec> {
        match role {
            Role::Coder => self.coder.as_ref(),
            Role::Reviewer => self.reviewer.as_ref(),
            Role::Tester => self.tester.as_ref(),
            Role::Qa => self.qa.as_ref(),
            Role::Other(_) => None,
        }
    }

    /// Returns the field for a role. Custom roles have none.
    pub fn role_spec_mut(&mut self, role: &Role) -> Option<&mut Option<RoleSpec>> {
        match role {
            Role::Coder => Some(&mut self.coder),
            Role::Reviewer => Some(&mut self.reviewer),
            Role::Tester => Some(&mut self.tester),
            Role::Qa => Some(&mut self.qa),
            Role::Other(_) => None,
        }
    }
}

impl RoleSpec {
    /// Returns the explicit method or the default of the role.
    #[must_use]
    pub fn method_for(&self, role: &Role) -> MethodName {
        self.verification_method.or_else(|| role.default_method()).unwrap_or(MethodName::StringMatch)
    }
}
