//! Qwen Code: hooks and commands in almost the same format as Claude's.
use serde_json::json;

use crate::install::contents::install_part::InstallPart;
use crate::install::contents::slash_commands::SLASH_COMMANDS;
use crate::install::host::{HookFileSharing, HostInstaller, InstallContext};
use crate::install::install_target::InstallScope;

const HOST_NAME: &str = "qwen";

pub(crate) const QWEN_INSTALLER: HostInstaller = HostInstaller {
    name: HOST_NAME,
    user_folder: |target| target.user_folder("QWEN_HOME", ".qwen"),
    project_folder: ".qwen",
    timeout_units_per_second: 1,
    supports_plugin: false,
    build_parts,
    post_install_advice,
    hook_file_sharing: HookFileSharing::Everyone,
    pending_user_action: |_, _| None,
    hooks_disabled_reason: |_| None,
};

fn build_parts(context: &InstallContext<'_>) -> Vec<InstallPart> {
    let command = context.hook_command(HOST_NAME);
    let hook = json!({ "type": "command", "name": "ralph", "command": command, "timeout": context.seconds });
    let commands = SLASH_COMMANDS.iter().map(|command| {
        let text =
            command.render_markdown(&context.ralph_shell_word(), "{{args}}", &[("description", command.description)]);
        InstallPart::whole_file(context.path_of(&format!("commands/{}.md", command.name)), text)
    });
    let events = &["UserPromptSubmit", "Stop", "StopFailure"];
    commands.chain([context.hooks_part("settings.json", &hook, events)]).collect()
}

fn post_install_advice(scope: &InstallScope) -> Option<String> {
    match scope {
        InstallScope::User | InstallScope::Plugin(_) => None,
        InstallScope::Project(_) => Some("Qwen runs the hooks of a project only in folders that you trust".to_owned()),
    }
}
