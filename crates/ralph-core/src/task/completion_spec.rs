//! What done means for a task, and what each role must bring.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{MethodName, Role, VerificationConfig};
use crate::check_isolation::CheckIsolation;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionSpec {
    /// What is true when the task is done, in a way that can be measured.
    pub outcome: String,
    /// At least one.
    pub acceptance_criteria: Vec<String>,
    /// Files that must not change before a claim, beside those of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Vec<String>>,
    /// Sealed files that the work may change all the same, beside those of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_changes: Option<Vec<String>>,
    /// Where claims are checked, whatever the configuration says.
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

/// What one role is asked for. What nobody wrote is `None`.
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
    /// Tells whether it says how claims are accepted, beside its criteria.
    #[must_use]
    pub fn has_acceptance_rules(&self) -> bool {
        self.guard.is_some() || self.allow_changes.is_some() || self.isolation.is_some()
    }

    /// Returns the block of a role.
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

    /// Returns the place for the block of a role, where it has one.
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
    /// Returns the method that is meant: the one that is named, or else the role's own.
    #[must_use]
    pub fn method_for(&self, role: &Role) -> MethodName {
        self.verification_method.or_else(|| role.default_method()).unwrap_or(MethodName::StringMatch)
    }
}
