//! Codex: hooks in a separate file, which Codex runs only after the user has trusted them, and commands as skills.
use serde_json::json;

use super::hook_trust;
use crate::install::contents::install_part::InstallPart;
use crate::install::host::{HookFileSharing, HostInstaller, InstallContext};
use crate::install::install_target::{InstallScope, InstallTarget};
use crate::install::merge;
use crate::install::ralph_executable::{HookMatcher, RalphExecutable};

const HOST_NAME: &str = "codex";

pub(crate) const CODEX_INSTALLER: HostInstaller = HostInstaller {
    name: HOST_NAME,
    user_folder: |target| target.user_folder("CODEX_HOME", ".codex"),
    project_folder: ".codex",
    timeout_units_per_second: 1,
    supports_plugin: false,
    build_parts,
    post_install_advice,
    hook_file_sharing: HookFileSharing::Everyone,
    pending_user_action,
    hooks_disabled_reason: |_| None,
};

fn build_parts(context: &InstallContext<'_>) -> Vec<InstallPart> {
    let hook = json!({ "type": "command", "command": context.hook_command(HOST_NAME), "timeout": context.seconds });
    context.skill_parts('$').chain([context.hooks_part("hooks.json", &hook, &["UserPromptSubmit", "Stop"])]).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "other hosts have no advice")]
fn post_install_advice(_scope: &InstallScope) -> Option<String> {
    Some(
        "Codex runs hooks only after you have trusted them: start `codex`, type /hooks, and trust ralph's two hooks. \
         The commands are $ralph, $cancel-ralph, $ralph-status and $ralph-tasks"
            .to_owned(),
    )
}

/// Codex records which hooks are trusted in the user's folder, also for hooks of projects.
fn pending_user_action(target: &InstallTarget<'_>, own: &RalphExecutable) -> Option<String> {
    let config = (CODEX_INSTALLER.user_folder)(target).ok()?.join("config.toml");
    let config = std::fs::read_to_string(config).unwrap_or_default();
    let file = CODEX_INSTALLER.settings_folder(target).ok()?.join("hooks.json");
    let ours = HookMatcher::new(HOST_NAME, own, None);
    let settings = std::fs::read_to_string(&file).ok()?;
    let hooks = merge::find_installed_hooks(&settings, |command| ours.matches_command(command)).ok()?;
    hook_trust::describe_refusals(&config, &file, &hooks)
}
