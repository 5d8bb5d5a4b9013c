//! How ralph is installed into a program. The `install.rs` of each program has its [`HostInstaller`].

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::contents::hook_command;
use super::contents::hook_timeout::timeout_flag;
use super::contents::install_part::{InstallPart, PartContent};
use super::contents::slash_commands::SLASH_COMMANDS;
use super::error::InstallError;
use super::install_target::{InstallScope, InstallTarget};
use super::merge::Hook;
use super::ralph_executable::RalphExecutable;
use crate::AGENTS;
use ralph_util::suggest;

/// Returns the installers of all programs that have one.
pub fn host_installers() -> impl Iterator<Item = &'static HostInstaller> {
    AGENTS.iter().filter_map(|agent| agent.host_installer())
}

/// How ralph is installed into one program.
pub struct HostInstaller {
    pub name: &'static str,
    /// Returns the folder of the user's settings.
    pub(crate) user_folder: fn(&InstallTarget<'_>) -> Result<PathBuf, InstallError>,
    /// The settings folder in a project, relative to its root.
    pub(crate) project_folder: &'static str,
    /// The time unit of hook timeouts in its settings: 1 for seconds, 1000 for milliseconds.
    pub(crate) timeout_units_per_second: u64,
    pub(crate) build_parts: fn(&InstallContext<'_>) -> Vec<InstallPart>,
    /// Whether ralph can also be installed into it as a plugin, in a folder of the user's choice.
    pub supports_plugin: bool,
    /// Returns what the user must do after the installation, if anything.
    pub(crate) post_install_advice: fn(&InstallScope) -> Option<String>,
    pub(crate) hook_file_sharing: HookFileSharing,
    /// Returns what the user must still do before the host runs the hooks, if that can be detected.
    pub(crate) pending_user_action: fn(&InstallTarget<'_>, &RalphExecutable) -> Option<String>,
    /// Returns which setting keeps the host from running any hook.
    pub(crate) hooks_disabled_reason: fn(&InstallTarget<'_>) -> Option<String>,
}

/// The users of the hook file of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookFileSharing {
    /// Everyone who works on the project.
    Everyone,
    /// Only the user, because this file in the settings folder contains a path of the machine.
    UserOnly { file: &'static str },
}

/// The input for building the parts of an installation.
pub(crate) struct InstallContext<'a> {
    pub(crate) scope: &'a InstallScope,
    pub(crate) folder: &'a Path,
    pub(crate) own: &'a RalphExecutable,
    /// The timeout of a hook.
    pub(crate) seconds: u64,
}

/// Returns the installer of the host with this name.
pub fn find_host_installer(name: &str) -> Result<&'static HostInstaller, InstallError> {
    host_installers().find(|host| host.name == name).ok_or_else(|| InstallError::UnknownHost {
        name: name.to_owned(),
        suggestion: suggest::nearest_name(name, &host_names()),
    })
}

fn host_names() -> Vec<&'static str> {
    host_installers().map(|host| host.name).collect()
}

impl HostInstaller {
    /// Returns the host's settings folder for a target.
    pub fn settings_folder(&self, target: &InstallTarget<'_>) -> Result<PathBuf, InstallError> {
        match &target.scope {
            InstallScope::User => (self.user_folder)(target),
            InstallScope::Project(root) => Ok(root.join(self.project_folder)),
            InstallScope::Plugin(folder) => Ok(folder.clone()),
        }
    }

    /// Returns the parts of an installation, with hooks that have this timeout.
    pub(crate) fn build_parts(
        &self,
        target: &InstallTarget<'_>,
        folder: &Path,
        own: &RalphExecutable,
        seconds: u64,
    ) -> Vec<InstallPart> {
        (self.build_parts)(&InstallContext { scope: &target.scope, folder, own, seconds })
    }

    /// Returns what the user must do after the installation, if anything.
    #[must_use]
    pub fn post_install_advice(&self, scope: &InstallScope) -> Option<String> {
        (self.post_install_advice)(scope)
    }

    /// Returns whether its hooks call ralph by name instead of by path.
    pub(crate) fn is_called_by_name(&self, scope: &InstallScope) -> bool {
        matches!(scope, InstallScope::Project(_)) && self.hook_file_sharing == HookFileSharing::Everyone
    }

    /// Returns the file of an installation that is meant for one machine, and must not be in a shared repository.
    #[must_use]
    pub fn private_project_file(&self, scope: &InstallScope) -> Option<PathBuf> {
        match (scope, self.hook_file_sharing) {
            (InstallScope::Project(root), HookFileSharing::UserOnly { file }) => {
                Some(root.join(self.project_folder).join(file))
            }
            (InstallScope::Project(_), HookFileSharing::Everyone)
            | (InstallScope::User | InstallScope::Plugin(_), _) => None,
        }
    }

    /// Returns which setting keeps the host from running any hook.
    pub(crate) fn hooks_disabled_reason(&self, target: &InstallTarget<'_>) -> Option<String> {
        (self.hooks_disabled_reason)(target)
    }

    /// Returns what the user must still do before the host runs the hooks, if that can be detected.
    #[must_use]
    pub fn pending_user_action(&self, target: &InstallTarget<'_>, own: &RalphExecutable) -> Option<String> {
        (self.pending_user_action)(target, own)
    }
}

impl InstallContext<'_> {
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the shell word with which users and agents call ralph.
    pub(crate) fn ralph_shell_word(&self) -> String {
        hook_command::ralph_shell_word(self.scope, self.own)
    }

    /// Returns the command of a hook. `args` are the host's name and optionally the event.
    pub(crate) fn hook_command(&self, args: &str) -> String {
        hook_command::hook_command(self.scope, self.own, &format!("{args}{}", timeout_flag(self.seconds)))
    }

    /// Returns the part that adds hooks to a settings file, in the format that most hosts share.
    pub(crate) fn hooks_part(&self, file: &str, hook: &Value, events: &[&'static str]) -> InstallPart {
        let entry = json!({ "hooks": [hook] });
        let hooks = events.iter().map(|event| Hook { event, entry: entry.clone() }).collect();
        InstallPart { path: self.path_of(file), content: PartContent::Hooks(hooks) }
    }

    /// Returns a skill file for every slash command.
    pub(crate) fn skill_parts(&self, prefix: char) -> impl Iterator<Item = InstallPart> {
        SLASH_COMMANDS.iter().map(move |command| {
            InstallPart::whole_file(
                self.path_of(&format!("skills/{}/SKILL.md", command.name)),
                command.render_skill(&self.ralph_shell_word(), prefix),
            )
        })
    }
}
