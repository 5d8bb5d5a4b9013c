//! The programs that ralph can be put into. A new one is a file beside this one and a line in [`HOSTS`].
mod claude;
mod codex;
mod codex_trust;
mod copilot;
mod gemini;
mod opencode;
mod qwen;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::error::InstallError;
use super::hook_command;
use super::hook_timeout::timeout_flag;
use super::install_part::{InstallPart, PartContent};
use super::install_target::{InstallScope, InstallTarget};
use super::merge::Hook;
use super::ralph_executable::RalphExecutable;
use super::slash_commands::SLASH_COMMANDS;
use ralph_util::suggest;

pub const HOST_INSTALLERS: &[&HostInstaller] = &[
    &claude::CLAUDE_INSTALLER,
    &codex::CODEX_INSTALLER,
    &gemini::GEMINI_INSTALLER,
    &qwen::QWEN_INSTALLER,
    &copilot::COPILOT_INSTALLER,
    &opencode::OPENCODE_INSTALLER,
];

/// One program, and what it needs to know ralph.
pub struct HostInstaller {
    pub name: &'static str,
    /// Returns where the user's own settings are.
    user_folder: fn(&InstallTarget<'_>) -> Result<PathBuf, InstallError>,
    /// Where they are in a project.
    project_folder: &'static str,
    /// How many of its settings' units of time are a second.
    pub(super) timeout_units_per_second: u64,
    build_parts: fn(&InstallContext<'_>) -> Vec<InstallPart>,
    /// Says what people have to do themselves, if anything.
    post_install_advice: fn(&InstallScope) -> Option<String>,
    /// Whose a project's file with the hooks is.
    hook_file_sharing: HookFileSharing,
    /// Says what the user has yet to do before the host runs the hooks, as far as that can be seen.
    pending_user_action: fn(&InstallTarget<'_>, &RalphExecutable) -> Option<String>,
    /// Says what in the settings keeps the host from running any hook.
    hooks_disabled_reason: fn(&InstallTarget<'_>) -> Option<String>,
}

/// Whose a project's file with the hooks is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookFileSharing {
    /// Everybody's who has the project.
    Everyone,
    /// The user's alone.
    UserOnly,
}

/// Where and for whom parts are made.
struct InstallContext<'a> {
    scope: &'a InstallScope,
    folder: &'a Path,
    own: &'a RalphExecutable,
    /// How long the host waits for a hook.
    seconds: u64,
}

/// Finds a host by its name.
pub fn find_host_installer(name: &str) -> Result<&'static HostInstaller, InstallError> {
    HOST_INSTALLERS.iter().copied().find(|host| host.name == name).ok_or_else(|| InstallError::UnknownHost {
        name: name.to_owned(),
        suggestion: suggest::nearest_name(name, &host_names()),
    })
}

fn host_names() -> Vec<&'static str> {
    HOST_INSTALLERS.iter().map(|host| host.name).collect()
}

impl HostInstaller {
    /// Returns the folder with the settings.
    pub fn settings_folder(&self, place: &InstallTarget<'_>) -> Result<PathBuf, InstallError> {
        match &place.scope {
            InstallScope::User => (self.user_folder)(place),
            InstallScope::Project(root) => Ok(root.join(self.project_folder)),
            InstallScope::Plugin(folder) => Ok(folder.clone()),
        }
    }

    /// Returns everything that belongs to it, with hooks for which the host waits so many seconds.
    pub(super) fn build_parts(
        &self,
        place: &InstallTarget<'_>,
        folder: &Path,
        (own, seconds): (&RalphExecutable, u64),
    ) -> Vec<InstallPart> {
        (self.build_parts)(&InstallContext { scope: &place.scope, folder, own, seconds })
    }

    /// Says what people have to do themselves, if anything.
    #[must_use]
    pub fn post_install_advice(&self, scope: &InstallScope) -> Option<String> {
        (self.post_install_advice)(scope)
    }

    /// Tells whether its hooks name ralph by its name.
    pub(super) fn is_called_by_name(&self, scope: &InstallScope) -> bool {
        matches!(scope, InstallScope::Project(_)) && self.hook_file_sharing == HookFileSharing::Everyone
    }

    /// Says what in the settings keeps it from running any hook.
    pub(super) fn hooks_disabled_reason(&self, place: &InstallTarget<'_>) -> Option<String> {
        (self.hooks_disabled_reason)(place)
    }

    /// Says what the user has yet to do before the host runs the hooks, as far as that can be seen.
    #[must_use]
    pub fn pending_user_action(&self, place: &InstallTarget<'_>, own: &RalphExecutable) -> Option<String> {
        (self.pending_user_action)(place, own)
    }
}

impl InstallContext<'_> {
    fn path_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns ralph as people and agents call it.
    fn ralph_shell_word(&self) -> String {
        hook_command::ralph_shell_word(self.scope, self.own)
    }

    /// Returns the command of a hook, with the host's name and what else it is told.
    fn hook_command(&self, words: &str) -> String {
        hook_command::hook_command(self.scope, self.own, &format!("{words}{}", timeout_flag(self.seconds)))
    }

    /// Puts hooks into a file with settings, as most hosts have them.
    fn hooks_part(&self, file: &str, hook: &Value, events: &[&'static str]) -> InstallPart {
        let entry = json!({ "hooks": [hook] });
        let hooks = events.iter().map(|event| Hook { event, entry: entry.clone() }).collect();
        InstallPart { path: self.path_of(file), content: PartContent::Hooks(hooks) }
    }

    /// Makes a skill of every command.
    fn skill_parts(&self, mark: char) -> impl Iterator<Item = InstallPart> {
        SLASH_COMMANDS.iter().map(move |command| {
            InstallPart::whole_file(
                self.path_of(&format!("skills/{}/SKILL.md", command.name)),
                command.render_skill(&self.ralph_shell_word(), mark),
            )
        })
    }
}
