//! Permissions: ralph's four levels of what an agent may do without asking, and how each is granted to an agent.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::launch::work_scope::{FileAccess, WorkScope};
use ralph_util::suggest;

/// The level of what an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionLevel {
    /// Only what its own settings allow. No user is present to answer, so every permission request is refused.
    Ask,
    /// Edit files in the project.
    Edits,
    /// Edit files, and run the project's checks and its usual build and test commands. Where the agent can express
    /// that, also commit. It prevents accidents; it is not a sandbox.
    Work,
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

/// How permission `work` is granted to one agent. The arguments depend on the commands of the run.
#[derive(Debug, Clone, Copy)]
pub struct WorkGrant {
    pub(crate) build_args: fn(&WorkScope) -> GrantArgs,
    /// Describes the grant for an agent that may edit files.
    pub edit_description: &'static str,
    /// Describes the grant for an agent that judges the work of others.
    pub read_description: &'static str,
}

/// The arguments and variables that grant a permission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantArgs {
    pub flags: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// How each permission level is granted to one agent, or why it is not supported.
#[derive(Debug, Clone, Copy)]
pub struct PermissionGrants {
    pub ask: Result<PermissionGrant, &'static str>,
    pub edits: Result<PermissionGrant, &'static str>,
    pub work: Result<WorkGrant, &'static str>,
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
    pub const ALL: &[Self] = &[Self::Ask, Self::Edits, Self::Work, Self::Full];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::Work => "work",
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
#[error("there is no permission named {name:?}; {}", suggest::suggestion_hint(name, &["ask", "edits", "work", "full"]))]
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

impl GrantArgs {
    fn from_grant(grant: PermissionGrant) -> Self {
        Self {
            flags: grant.flags.iter().map(|&flag| flag.to_owned()).collect(),
            env: grant.env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        }
    }

    pub(crate) fn from_flags<'a>(flags: impl IntoIterator<Item = &'a str>) -> Self {
        Self { flags: flags.into_iter().map(str::to_owned).collect(), env: Vec::new() }
    }
}

impl PermissionGrants {
    /// Creates the grants of an agent that supports no permission levels.
    pub(crate) const fn unsupported(reason: &'static str, settings: &'static str) -> Self {
        Self {
            ask: Err(reason),
            edits: Err(reason),
            work: Err(reason),
            full: Err(reason),
            default_grant: DefaultGrant::AgentSettings(settings),
        }
    }

    /// Returns what a permission level allows, or why it is not supported.
    pub fn level_description(&self, level: PermissionLevel, files: FileAccess) -> Result<&'static str, &'static str> {
        match (level, files) {
            (PermissionLevel::Ask, _) => self.ask.map(|grant| grant.description),
            (PermissionLevel::Edits, _) => self.edits.map(|grant| grant.description),
            (PermissionLevel::Work, FileAccess::Edit) => self.work.map(|grant| grant.edit_description),
            (PermissionLevel::Work, FileAccess::Read) => self.work.map(|grant| grant.read_description),
            (PermissionLevel::Full, _) => self.full.map(|grant| grant.description),
        }
    }

    /// Returns a description of what the agent may do.
    #[must_use]
    pub fn describe_grant(&self, requested: Option<PermissionLevel>, files: FileAccess) -> &'static str {
        match (requested, self.default_grant) {
            (Some(level), _) | (None, DefaultGrant::Level(level)) => {
                self.level_description(level, files).unwrap_or_else(|reason| reason)
            }
            (None, DefaultGrant::AgentSettings(settings)) => settings,
        }
    }

    /// Returns the permission of an agent that works on a task, if the user sets none: `work`, or `edits` if the agent
    /// cannot limit its commands. `None` if the agent's own settings decide. An agent that knows only all or nothing
    /// gets a level that it does not support, and is refused.
    #[must_use]
    pub fn default_work_level(&self) -> Option<PermissionLevel> {
        match (self.work, self.edits, self.default_grant) {
            (_, _, DefaultGrant::AgentSettings(_)) => None,
            (Err(_), Ok(_), DefaultGrant::Level(_)) => Some(PermissionLevel::Edits),
            (Ok(_), _, _) | (Err(_), Err(_), DefaultGrant::Level(_)) => Some(PermissionLevel::Work),
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

    /// Returns the arguments for the requested permission level or the default.
    pub(crate) fn grant_args(&self, requested: Option<PermissionLevel>, scope: &WorkScope) -> GrantArgs {
        let level = match (requested, self.default_grant) {
            (Some(level), _) | (None, DefaultGrant::Level(level)) => level,
            (None, DefaultGrant::AgentSettings(_)) => return GrantArgs::default(),
        };
        let args = match level {
            PermissionLevel::Ask => self.ask.map(GrantArgs::from_grant),
            PermissionLevel::Edits => self.edits.map(GrantArgs::from_grant),
            PermissionLevel::Work => self.work.map(|grant| (grant.build_args)(scope)),
            PermissionLevel::Full => self.full.map(GrantArgs::from_grant),
        };
        args.unwrap_or_default()
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

    #[test] // spec: A6, A11
    fn every_agent_describes_its_permissions_and_full_is_never_the_default() {
        for agent in AGENTS {
            let grants = agent.grants();
            for permission in PermissionLevel::ALL.iter().map(|level| Some(*level)).chain([None]) {
                for files in [FileAccess::Edit, FileAccess::Read] {
                    assert!(!grants.describe_grant(permission, files).is_empty(), "{} {permission:?}", agent.name());
                }
            }
            let usual = [grants.effective_level(None), grants.default_work_level().unwrap_or(PermissionLevel::Ask)];
            assert!(!usual.contains(&PermissionLevel::Full), "{}", agent.name());
        }
    }

    // finding: N54
    // spec: A11
    #[test]
    fn an_agent_that_cannot_limit_its_commands_may_edit_and_one_that_knows_all_or_nothing_is_refused() {
        let level = |name: &str| crate::find_agent(name).unwrap().grants().default_work_level();
        for name in ["claude", "codex", "opencode", "gemini", "qwen", "copilot", "acp", "kimi"] {
            assert_eq!(level(name), Some(PermissionLevel::Work), "{name}");
        }
        assert_eq!([level("pi"), level("grok")], [Some(PermissionLevel::Edits); 2]);
        for name in ["cline", "goose", "cursor"] {
            let grants = crate::find_agent(name).unwrap().grants();
            let refusal = grants.level_description(level(name).unwrap(), FileAccess::Edit).unwrap_err();
            assert!(refusal.contains("`full`"), "{name}: {refusal}");
        }
        assert_eq!([level("text"), level("amp"), level("demo")], [None; 3]);
    }
}
