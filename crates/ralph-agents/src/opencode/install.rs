//! OpenCode: a plugin that calls ralph, and commands in Markdown.
use serde_json::Value;

use crate::install::contents::hook_command;
use crate::install::contents::install_part::InstallPart;
use crate::install::contents::slash_commands::SLASH_COMMANDS;
use crate::install::host::{HookFileSharing, HostInstaller, InstallContext};
use crate::install::install_target::InstallScope;

const PLUGIN_TEMPLATE: &str = include_str!("../install/contents/texts/opencode.js");

pub(crate) const OPENCODE_INSTALLER: HostInstaller = HostInstaller {
    name: "opencode",
    user_folder: |target| Ok(target.user_folder("XDG_CONFIG_HOME", ".config")?.join("opencode")),
    project_folder: ".opencode",
    timeout_units_per_second: 1000,
    supports_plugin: false,
    build_parts,
    post_install_advice,
    hook_file_sharing: HookFileSharing::Everyone,
    pending_user_action: |_, _| None,
    hooks_disabled_reason: |_| None,
};

fn build_parts(context: &InstallContext<'_>) -> Vec<InstallPart> {
    let plugin = PLUGIN_TEMPLATE
        .replace("\"{{ralph}}\"", &Value::from(hook_command::ralph_program(context.scope, context.own)).to_string());
    let plugin = plugin.replace("\"{{seconds}}\"", &context.seconds.to_string());
    let commands = SLASH_COMMANDS.iter().map(|command| {
        let text =
            command.render_markdown(&context.ralph_shell_word(), "$ARGUMENTS", &[("description", command.description)]);
        InstallPart::whole_file(context.path_of(&format!("command/{}.md", command.name)), text)
    });
    commands.chain([InstallPart::whole_file(context.path_of("plugin/ralph.js"), plugin)]).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "other hosts have no advice")]
fn post_install_advice(_scope: &InstallScope) -> Option<String> {
    Some(
        "a loop needs OpenCode's TUI or `opencode serve`: `opencode run` exits before the loop can continue".to_owned(),
    )
}
