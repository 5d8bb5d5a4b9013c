//! Who works on a task.
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{MethodName, is_valid_id};

/// The four roles of a pipeline, and any that the user thinks up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Role {
    Coder,
    Reviewer,
    Tester,
    Qa,
    Other(String),
}

/// It is no name for a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no name for a role: letters, digits, `-`, `_` and `.`, a letter or digit first")]
pub struct InvalidRoleName {
    name: String,
}

impl Role {
    /// The four that have defaults of their own, in their order.
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

    /// Tells whether it looks at the work of another, and may send it back.
    #[must_use]
    pub fn can_send_back(&self) -> bool {
        match self {
            Self::Reviewer | Self::Tester | Self::Qa => true,
            Self::Coder | Self::Other(_) => false,
        }
    }

    /// Tells whether its claim says that the work holds, which the checks of the project can show. A reviewer says that it
    /// is well made.
    #[must_use]
    pub fn vouches_for_work(&self) -> bool {
        match self {
            Self::Coder | Self::Tester | Self::Qa | Self::Other(_) => true,
            Self::Reviewer => false,
        }
    }

    /// Returns the promise of a role for which nothing else is said.
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

    /// Returns the iterations of a role for which nothing else is said, if it has a number of its own.
    #[must_use]
    pub fn default_iterations(&self) -> Option<u32> {
        match self {
            Self::Coder => Some(15),
            Self::Tester => Some(10),
            Self::Reviewer | Self::Qa => Some(5),
            Self::Other(_) => None,
        }
    }

    /// Returns the method of a block that names none, if the role has one of its own.
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
    fn each_role_has_its_iterations_its_promise_and_its_method() {
        let of = |role: Role| (role.default_iterations(), role.default_promise(), role.default_method());
        assert_eq!(of(Role::Coder), (Some(15), "IMPLEMENTATION_COMPLETE", Some(MethodName::External)));
        assert_eq!(of(Role::Reviewer), (Some(5), "REVIEW_PASSED", Some(MethodName::Semantic)));
        assert_eq!(of(Role::Tester), (Some(10), "TESTS_PASSED", Some(MethodName::External)));
        assert_eq!(of(Role::Qa), (Some(5), "QA_PASSED", Some(MethodName::MultiStage)));
        assert_eq!(of(Role::parse("docs").unwrap()), (None, "STAGE_COMPLETE", None));
    }

    // spec: T7
    #[test]
    fn a_role_is_stored_by_its_name_and_nonsense_is_refused() {
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
