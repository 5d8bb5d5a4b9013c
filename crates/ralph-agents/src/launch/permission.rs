//! Permissions: ralph's three levels of what an agent may do without asking, and how each is granted to an agent.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use ralph_util::suggest;

/// The level of what an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionLevel {
    /// Only what its own settings allow. No user is present to answer, so every permission request is refused.
    Ask,
    /// Edit files in the project.
    Edits,
    /// Everything.
    Full,
}

/// How a permission is granted to one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermissionGrant {
    pub flags: &'static [&'static str],
    pub env: &'static [(&'static str, &'static str)],
    /// Describes the grant for display: a sentence without its subject, the agent.
    pub description: &'static str,
}

/// How each permission level is granted to one agent, or why it is not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermissionGrants {
    pub ask: Result<PermissionGrant, &'static str>,
    pub edits: Result<PermissionGrant, &'static str>,
    pub full: Result<PermissionGrant, &'static str>,
    /// The default if the user sets no permission.
    pub default_grant: DefaultGrant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultGrant {
    Level(PermissionLevel),
    /// The agent's own settings decide. Contains a description of them for the user.
    AgentSettings(&'static str),
}

impl PermissionLevel {
    pub const ALL: &[Self] = &[Self::Ask, Self::Edits, Self::Full];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for PermissionLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unknown permission level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no permission named {name:?}; {}", suggest::suggestion_hint(name, &["ask", "edits", "full"]))]
pub struct UnknownPermissionLevel {
    name: String,
}

impl FromStr for PermissionLevel {
    type Err = UnknownPermissionLevel;

    fn from_str(name: &str) -> Result<Self, UnknownPermissionLevel> {
        let found = Self::ALL.iter().copied().find(|permission| permission.name() == name);
        found.ok_or_else(|| UnknownPermissionLevel { name: name.to_owned() })
    }
}

impl PermissionGrant {
    pub(crate) const fn from_flags(flags: &'static [&'static str], description: &'static str) -> Self {
        Self { flags, env: &[], description }
    }

    pub(crate) const fn from_env(env: &'static [(&'static str, &'static str)], description: &'static str) -> Self {
        Self { flags: &[], env, description }
    }
}

impl PermissionGrants {
    /// Creates the grants of an agent that supports no permission levels.
    pub(crate) const fn unsupported(reason: &'static str, settings: &'static str) -> Self {
        Self {
            ask: Err(reason),
            edits: Err(reason),
            full: Err(reason),
            default_grant: DefaultGrant::AgentSettings(settings),
        }
    }

    /// Returns how a permission is granted, or why it is not supported.
    pub fn grant_for(&self, permission: PermissionLevel) -> Result<PermissionGrant, &'static str> {
        match permission {
            PermissionLevel::Ask => self.ask,
            PermissionLevel::Edits => self.edits,
            PermissionLevel::Full => self.full,
        }
    }

    /// Returns a description of what the agent may do.
    #[must_use]
    pub fn describe_grant(&self, requested: Option<PermissionLevel>) -> &'static str {
        let level = requested.or(match self.default_grant {
            DefaultGrant::Level(permission) => Some(permission),
            DefaultGrant::AgentSettings(_) => None,
        });
        match (level.map(|permission| self.grant_for(permission)), self.default_grant) {
            (Some(Ok(grant)), _) => grant.description,
            (Some(Err(reason)), _) => reason,
            (None, DefaultGrant::AgentSettings(settings)) => settings,
            (None, DefaultGrant::Level(_)) => "",
        }
    }

    /// Returns the requested permission level or the default. If the agent's own settings decide, that is
    /// [`PermissionLevel::Ask`]: its permission requests are refused.
    #[must_use]
    pub fn effective_level(&self, requested: Option<PermissionLevel>) -> PermissionLevel {
        requested.unwrap_or(match self.default_grant {
            DefaultGrant::Level(permission) => permission,
            DefaultGrant::AgentSettings(_) => PermissionLevel::Ask,
        })
    }

    /// Returns the grant for the requested permission level or the default.
    pub(crate) fn effective_grant(&self, requested: Option<PermissionLevel>) -> Option<PermissionGrant> {
        match (requested, self.default_grant) {
            (Some(permission), _) | (None, DefaultGrant::Level(permission)) => self.grant_for(permission).ok(),
            (None, DefaultGrant::AgentSettings(_)) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AGENTS;

    #[test] // spec: A6
    fn a_permission_is_found_by_its_name_and_a_mistyped_one_gets_a_hint() {
        for permission in PermissionLevel::ALL {
            assert_eq!(permission.name().parse(), Ok(*permission));
        }
        let error = "ful".parse::<PermissionLevel>().unwrap_err();
        assert_eq!(error.to_string(), "there is no permission named \"ful\"; did you mean full?");
    }

    #[test] // spec: A6
    fn every_agent_describes_its_permissions_and_full_is_never_the_default() {
        for agent in AGENTS {
            let grants = agent.grants();
            for permission in
                [None, Some(PermissionLevel::Ask), Some(PermissionLevel::Edits), Some(PermissionLevel::Full)]
            {
                assert!(!grants.describe_grant(permission).is_empty(), "{} {permission:?}", agent.name());
            }
            assert_ne!(grants.default_grant, DefaultGrant::Level(PermissionLevel::Full), "{}", agent.name());
        }
    }
}
