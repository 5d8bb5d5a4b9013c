//! What an agent may do unasked: our three words for it, and what each means to one agent.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use ralph_util::suggest;

/// What an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Only what its own settings allow. Nobody is there to answer, so what it asks for is refused.
    Ask,
    /// Edit files in the project.
    Edits,
    /// Everything.
    Full,
}

/// How one agent is given a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    pub flags: &'static [&'static str],
    pub env: &'static [(&'static str, &'static str)],
    /// What it really allows, for people: the end of a sentence that begins with the agent.
    pub means: &'static str,
}

/// What each permission means to one agent, or why it cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grants {
    pub ask: Result<Grant, &'static str>,
    pub edits: Result<Grant, &'static str>,
    pub full: Result<Grant, &'static str>,
    /// What holds where the user says nothing.
    pub usual: Usual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usual {
    Given(Permission),
    /// The agent's own settings decide; this is what people should know about them.
    Own(&'static str),
}

impl Permission {
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

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A permission that means nothing here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no permission named {name:?}; {}", suggest::hint(name, &["ask", "edits", "full"]))]
pub struct UnknownPermission {
    name: String,
}

impl FromStr for Permission {
    type Err = UnknownPermission;

    fn from_str(name: &str) -> Result<Self, UnknownPermission> {
        let found = Self::ALL.iter().copied().find(|permission| permission.name() == name);
        found.ok_or_else(|| UnknownPermission { name: name.to_owned() })
    }
}

impl Grant {
    pub(super) const fn of_flags(flags: &'static [&'static str], means: &'static str) -> Self {
        Self { flags, env: &[], means }
    }

    pub(super) const fn of_env(env: &'static [(&'static str, &'static str)], means: &'static str) -> Self {
        Self { flags: &[], env, means }
    }
}

impl Grants {
    /// An agent that takes no permissions from us.
    pub(super) const fn own(why: &'static str, settings: &'static str) -> Self {
        Self { ask: Err(why), edits: Err(why), full: Err(why), usual: Usual::Own(settings) }
    }

    /// Returns how the permission is given, or why it cannot be.
    pub fn of(&self, permission: Permission) -> Result<Grant, &'static str> {
        match permission {
            Permission::Ask => self.ask,
            Permission::Edits => self.edits,
            Permission::Full => self.full,
        }
    }

    /// Returns what the agent may do, in words.
    #[must_use]
    pub fn means(&self, asked: Option<Permission>) -> &'static str {
        let given = asked.or(match self.usual {
            Usual::Given(permission) => Some(permission),
            Usual::Own(_) => None,
        });
        match (given.map(|permission| self.of(permission)), self.usual) {
            (Some(Ok(grant)), _) => grant.means,
            (Some(Err(why)), _) => why,
            (None, Usual::Own(settings)) => settings,
            (None, Usual::Given(_)) => "",
        }
    }

    /// Returns the permission that holds where the user asked for this. Where the agent's own settings decide, what it
    /// asks for is refused.
    #[must_use]
    pub fn given(&self, asked: Option<Permission>) -> Permission {
        asked.unwrap_or(match self.usual {
            Usual::Given(permission) => permission,
            Usual::Own(_) => Permission::Ask,
        })
    }

    /// Returns what to start with where the user asked for this.
    pub(super) fn grant(&self, asked: Option<Permission>) -> Option<Grant> {
        match (asked, self.usual) {
            (Some(permission), _) | (None, Usual::Given(permission)) => self.of(permission).ok(),
            (None, Usual::Own(_)) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AGENTS;

    #[test] // spec: A6
    fn a_permission_is_found_by_its_name_and_a_mistyped_one_gets_a_hint() {
        for permission in Permission::ALL {
            assert_eq!(permission.name().parse(), Ok(*permission));
        }
        let error = "ful".parse::<Permission>().unwrap_err();
        assert_eq!(error.to_string(), "there is no permission named \"ful\"; did you mean full?");
    }

    #[test] // spec: A6
    fn every_agent_says_in_words_what_it_may_do_and_never_does_everything_unasked() {
        for agent in AGENTS {
            let grants = agent.grants();
            for permission in [None, Some(Permission::Ask), Some(Permission::Edits), Some(Permission::Full)] {
                assert!(!grants.means(permission).is_empty(), "{} {permission:?}", agent.name());
            }
            assert_ne!(grants.usual, Usual::Given(Permission::Full), "{}", agent.name());
        }
    }
}
