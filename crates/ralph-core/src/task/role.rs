//! The roles that work on a task.
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{MethodName, is_valid_id};

/// The four built-in roles, and custom roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Role {
    Coder,
    Reviewer,
    Tester,
    Qa,
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a valid role name: use letters, digits, `-`, `_` and `.`, and start with a letter or a digit")]
pub struct InvalidRoleName {
    name: String,
}

impl Role {
    /// The four roles with built-in defaults, in pipeline order.
    pub const BUILT_IN: [Self; 4] = [Self::Coder, Self::Reviewer, Self::Tester, Self::Qa];

    pub fn parse(name: &str) -> Result<Self, InvalidRoleName> {
        match Self::BUILT_IN.into_iter().find(|role| role.as_str() == name) {
            Some(role) => Ok(role),
            None if is_valid_id(name) => Ok(Self::Other(name.to_owned())),
            None => Err(InvalidRoleName { name: name.to_owned() }),
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Coder => "coder",
            Self::Reviewer => "reviewer",
            Self::Tester => "tester",
            Self::Qa => "qa",
            Self::Other(name) => name,
        }
    }

    /// Returns whether it judges the work of another role and may send it back.
    #[must_use]
    pub fn can_send_back(&self) -> bool {
        match self {
            Self::Reviewer | Self::Tester | Self::Qa => true,
            Self::Coder | Self::Other(_) => false,
        }
    }

    /// Returns whether its work includes changes of files. A tester writes tests; the other roles that judge only read
    /// and run the checks.
    #[must_use]
    pub fn may_edit(&self) -> bool {
        match self {
            Self::Coder | Self::Tester | Self::Other(_) => true,
            Self::Reviewer | Self::Qa => false,
        }
    }

    /// Returns whether its claim says that the work functions, which project checks can verify. A reviewer's claim is
    /// about quality.
    #[must_use]
    pub fn is_verified_by_project_checks(&self) -> bool {
        match self {
            Self::Coder | Self::Tester | Self::Qa | Self::Other(_) => true,
            Self::Reviewer => false,
        }
    }

    /// Returns the default promise of the role.
    #[must_use]
    pub fn default_promise(&self) -> &'static str {
        match self {
            Self::Coder => "IMPLEMENTATION_COMPLETE",
            Self::Reviewer => "REVIEW_PASSED",
            Self::Tester => "TESTS_PASSED",
            Self::Qa => "QA_PASSED",
            Self::Other(_) => "STAGE_COMPLETE",
        }
    }

    /// Returns the default number of iterations, if the role has one.
    #[must_use]
    pub fn default_iterations(&self) -> Option<u32> {
        match self {
            Self::Coder => Some(15),
            Self::Tester => Some(10),
            Self::Reviewer | Self::Qa => Some(5),
            Self::Other(_) => None,
        }
    }

    /// Returns the default verification method, if the role has one.
    #[must_use]
    pub fn default_method(&self) -> Option<MethodName> {
        match self {
            Self::Coder | Self::Tester => Some(MethodName::External),
            Self::Reviewer => Some(MethodName::Semantic),
            Self::Qa => Some(MethodName::MultiStage),
            Self::Other(_) => None,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for Role {
    type Error = InvalidRoleName;

    fn try_from(name: String) -> Result<Self, InvalidRoleName> {
        Self::parse(&name)
    }
}

impl From<Role> for String {
    fn from(role: Role) -> Self {
        role.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: T7
    #[test]
    fn each_role_has_default_iterations_promise_and_method() {
        let defaults = |role: Role| (role.default_iterations(), role.default_promise(), role.default_method());
        assert_eq!(defaults(Role::Coder), (Some(15), "IMPLEMENTATION_COMPLETE", Some(MethodName::External)));
        assert_eq!(defaults(Role::Reviewer), (Some(5), "REVIEW_PASSED", Some(MethodName::Semantic)));
        assert_eq!(defaults(Role::Tester), (Some(10), "TESTS_PASSED", Some(MethodName::External)));
        assert_eq!(defaults(Role::Qa), (Some(5), "QA_PASSED", Some(MethodName::MultiStage)));
        assert_eq!(defaults(Role::parse("docs").unwrap()), (None, "STAGE_COMPLETE", None));
    }

    // spec: T7
    #[test]
    fn a_role_is_stored_by_its_name_and_invalid_names_are_refused() {
        for name in ["coder", "qa", "docs-writer"] {
            let role = Role::parse(name).unwrap();
            let stored = serde_json::to_string(&role).unwrap();
            assert_eq!(stored, alloc::format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Role>(&stored).unwrap(), role);
        }
        for name in ["", "a b", "../x", "-x", "a/b"] {
            assert!(Role::parse(name).is_err(), "{name}");
        }
    }
}
