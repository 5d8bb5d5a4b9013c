//! The permissions of the agents of a run: the level that the user has set or the default of the run, and the commands that
//! permission `work` allows.
use ralph_agents::{FileAccess, PermissionLevel, WorkScope};
use ralph_core::criterion::{Criterion, external_checks};
use ralph_engine::project::Project;
use ralph_engine::run_driver::AgentChoice;

use super::usual_commands::find_usual_commands;
use crate::config::{SettingOrigin, Settings};
use crate::error::{AppError, AppResult};

/// Git commands that change nothing.
const GIT_READ_COMMANDS: &[&str] = &["git diff", "git log", "git show", "git status"];
const GIT_COMMIT_COMMANDS: &[&str] = &["git add", "git commit"];

/// The permissions of the agents of a run if the user sets none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentAccess {
    /// The default of each agent.
    AgentDefault,
    /// Permission `work`, where the agent can express it.
    Work { files: FileAccess },
}

impl AgentAccess {
    fn files(self) -> FileAccess {
        match self {
            Self::AgentDefault => FileAccess::Edit,
            Self::Work { files } => files,
        }
    }

    /// Returns what permission `work` allows in a run with these checks.
    pub(super) fn work_scope(self, settings: &Settings, checks: &[Criterion], project: &Project) -> WorkScope {
        let checks: Vec<String> =
            external_checks(checks).iter().map(|external| external.check.command.to_string()).collect();
        let setup = settings.pipeline.setup.value.iter().chain(&settings.verification.setup.value);
        let usual = find_usual_commands(&project.root);
        let commits = match self.files() {
            FileAccess::Edit => GIT_COMMIT_COMMANDS,
            FileAccess::Read => &[],
        };
        let fixed = usual.iter().chain(GIT_READ_COMMANDS).chain(commits).copied();
        WorkScope::new(checks.iter().chain(setup).map(String::as_str).chain(fixed), self.files())
    }

    /// Returns the agent with its permission. Fails if the agent does not support the default of the run.
    pub(super) fn grant(self, agent: AgentChoice, settings: &Settings, scope: &WorkScope) -> AppResult<AgentChoice> {
        let is_set_by_user = settings.permission.origin != SettingOrigin::BuiltIn || agent.overrides.args.is_some();
        let permission = match self {
            Self::Work { .. } if !is_set_by_user => agent.adapter.grants().default_work_level(),
            Self::Work { .. } | Self::AgentDefault => agent.permission,
        };
        if let Some(level) = permission
            && let Err(reason) = agent.adapter.grants().level_description(level, self.files())
        {
            let message = format!(
                "the agent {} does not support the permission {level}, the default of this command",
                agent.name
            );
            return Err(AppError::preflight(message).with_advice(reason));
        }
        let work_scope = (permission == Some(PermissionLevel::Work)).then(|| scope.clone());
        Ok(AgentChoice { permission, work_scope, ..agent })
    }
}
