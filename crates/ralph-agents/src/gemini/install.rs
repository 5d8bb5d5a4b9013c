//! Gemini CLI: hooks in its settings, with timeouts in milliseconds, and commands in TOML.
use serde_json::json;

use crate::install::contents::install_part::InstallPart;
use crate::install::contents::slash_commands::SLASH_COMMANDS;
use crate::install::host::{HookFileSharing, HostInstaller, InstallContext};
use crate::install::install_target::InstallScope;

const HOST_NAME: &str = "gemini";

pub(crate) const GEMINI_INSTALLER: HostInstaller = HostInstaller {
    name: HOST_NAME,
    user_folder: |target| Ok(target.user_folder("GEMINI_CLI_HOME", "")?.join(".gemini")),
    project_folder: ".gemini",
    timeout_units_per_second: 1000,
    supports_plugin: false,
    build_parts,
    post_install_advice,
    hook_file_sharing: HookFileSharing::Everyone,
    pending_user_action: |_, _| None,
    hooks_disabled_reason: |_| None,
};

fn build_parts(context: &InstallContext<'_>) -> Vec<InstallPart> {
    let timeout = context.seconds * GEMINI_INSTALLER.timeout_units_per_second;
    let command = context.hook_command(HOST_NAME);
    let hook = json!({ "type": "command", "name": "ralph", "command": command, "timeout": timeout });
    let commands = SLASH_COMMANDS.iter().map(|command| {
        let text = to_toml_string(&command.render_text(&context.ralph_shell_word(), "{{args}}"));
        let toml = format!("description = {:?}\nprompt = {text}\n", command.description);
        InstallPart::whole_file(context.path_of(&format!("commands/{}.toml", command.name)), toml)
    });
    commands.chain([context.hooks_part("settings.json", &hook, &["BeforeAgent", "AfterAgent"])]).collect()
}

fn post_install_advice(scope: &InstallScope) -> Option<String> {
    match scope {
        InstallScope::User | InstallScope::Plugin(_) => None,
        InstallScope::Project(_) => {
            Some("Gemini runs the hooks of a project only in folders that you trust".to_owned())
        }
    }
}

/// Returns a text as a multi-line TOML string.
fn to_toml_string(text: &str) -> String {
    format!("\"\"\"\n{}\"\"\"", text.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\""))
}
