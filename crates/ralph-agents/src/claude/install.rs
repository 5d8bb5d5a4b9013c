//! Claude Code: hooks in its settings and commands in Markdown, or everything as a plugin.
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::install::contents::hook_command;
use crate::install::contents::hook_timeout::timeout_flag;
use crate::install::contents::install_part::InstallPart;
use crate::install::contents::slash_commands::SLASH_COMMANDS;
use crate::install::host::{HookFileSharing, HostInstaller, InstallContext};
use crate::install::install_target::{InstallScope, InstallTarget};
use crate::install::merge;

const HOST_NAME: &str = "claude";
/// The settings of one machine. `settings.json` is shared with everyone who has the project.
const LOCAL_SETTINGS_FILE: &str = "settings.local.json";

pub(crate) const CLAUDE_INSTALLER: HostInstaller = HostInstaller {
    name: HOST_NAME,
    user_folder: |target| target.user_folder("CLAUDE_CONFIG_DIR", ".claude"),
    project_folder: ".claude",
    timeout_units_per_second: 1,
    supports_plugin: true,
    build_parts,
    post_install_advice,
    hook_file_sharing: HookFileSharing::UserOnly { file: LOCAL_SETTINGS_FILE },
    pending_user_action: |_, _| None,
    hooks_disabled_reason,
};

const HOOK_EVENTS: &[&str] = &["UserPromptSubmit", "Stop", "StopFailure"];

fn build_parts(context: &InstallContext<'_>) -> Vec<InstallPart> {
    let settings = match context.scope {
        InstallScope::User => context.hooks_part("settings.json", &hook_entry(context), HOOK_EVENTS),
        InstallScope::Project(_) => context.hooks_part(LOCAL_SETTINGS_FILE, &hook_entry(context), HOOK_EVENTS),
        InstallScope::Plugin(_) => return plugin_parts(context),
    };
    command_parts(context).chain([settings]).collect()
}

/// The most specific settings file that contains the setting counts.
fn hooks_disabled_reason(target: &InstallTarget<'_>) -> Option<String> {
    let project = target.project_root.as_ref().map(|root| root.join(CLAUDE_INSTALLER.project_folder));
    let project_files =
        project.iter().flat_map(|folder| [LOCAL_SETTINGS_FILE, "settings.json"].map(|name| folder.join(name)));
    let user = (CLAUDE_INSTALLER.user_folder)(target).ok().map(|folder| folder.join("settings.json"));
    let read_setting = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        Some((merge::find_value(&text, "disableAllHooks")?.as_bool()?, path))
    };
    let (is_disabled, path) = project_files.chain(user).find_map(read_setting)?;
    is_disabled.then(|| {
        let path = path.display();
        format!("Claude runs no hooks, because {path} sets \"disableAllHooks\": true: remove it, or set it to false")
    })
}

fn hook_entry(context: &InstallContext<'_>) -> Value {
    let command =
        hook_command::hook_command_by_path(context.own, &format!("{HOST_NAME}{}", timeout_flag(context.seconds)));
    json!({ "type": "command", "command": command, "timeout": context.seconds })
}

fn command_parts(context: &InstallContext<'_>) -> impl Iterator<Item = InstallPart> {
    SLASH_COMMANDS.iter().map(|command| {
        let hint = Some(("argument-hint", command.argument_hint)).filter(|(_, hint)| !hint.is_empty());
        let front_matter = [("description", command.description), ("disable-model-invocation", "true")];
        let front_matter: Vec<_> = front_matter.into_iter().chain(hint).collect();
        let text = command.render_markdown(&context.ralph_shell_word(), "$ARGUMENTS", &front_matter);
        InstallPart::whole_file(context.path_of(&format!("commands/{}.md", command.name)), text)
    })
}

fn plugin_parts(context: &InstallContext<'_>) -> Vec<InstallPart> {
    let manifest = json!({ "name": "ralph", "version": env!("CARGO_PKG_VERSION"),
        "description": "Works in a session until a task is proven done" });
    let entry = json!([{ "hooks": [hook_entry(context)] }]);
    let hooks: serde_json::Map<_, _> = HOOK_EVENTS.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
    let whole = |name: &str, value: &Value| InstallPart::whole_file(context.path_of(name), format!("{value:#}\n"));
    let files = [whole(".claude-plugin/plugin.json", &manifest), whole("hooks/hooks.json", &json!({ "hooks": hooks }))];
    command_parts(context).chain(files).collect()
}

fn post_install_advice(scope: &InstallScope) -> Option<String> {
    match scope {
        InstallScope::User | InstallScope::Project(_) => None,
        InstallScope::Plugin(folder) => Some(format!(
            "start Claude with `claude --plugin-dir {}`; the commands are /ralph:ralph, /ralph:cancel-ralph and so on",
            folder.display()
        )),
    }
}
