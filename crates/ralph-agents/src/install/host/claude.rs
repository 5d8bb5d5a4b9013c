//! Claude Code: hooks in its settings, commands in Markdown; or everything as a plugin.
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{HookFileSharing, HostInstaller, InstallContext};
use crate::install::hook_command;
use crate::install::hook_timeout::timeout_flag;
use crate::install::install_part::InstallPart;
use crate::install::install_target::{InstallScope, InstallTarget};
use crate::install::merge;
use crate::install::slash_commands::SLASH_COMMANDS;

const HOST_NAME: &str = "claude";

pub(super) const CLAUDE_INSTALLER: HostInstaller = HostInstaller {
    name: HOST_NAME,
    user_folder: |place| place.user_folder("CLAUDE_CONFIG_DIR", ".claude"),
    project_folder: ".claude",
    timeout_units_per_second: 1,
    build_parts,
    post_install_advice,
    hook_file_sharing: HookFileSharing::UserOnly,
    pending_user_action: |_, _| None,
    hooks_disabled_reason,
};

const HOOK_EVENTS: &[&str] = &["UserPromptSubmit", "Stop", "StopFailure"];

fn build_parts(site: &InstallContext<'_>) -> Vec<InstallPart> {
    let settings = match site.scope {
        InstallScope::User => site.hooks_part("settings.json", &hook_entry(site), HOOK_EVENTS),
        // The other file is for everybody; this one is kept out of git.
        InstallScope::Project(_) => site.hooks_part("settings.local.json", &hook_entry(site), HOOK_EVENTS),
        InstallScope::Plugin(_) => return plugin_parts(site),
    };
    command_parts(site).chain([settings]).collect()
}

/// Of its settings the nearest counts.
fn hooks_disabled_reason(place: &InstallTarget<'_>) -> Option<String> {
    let project = place.project_root.as_ref().map(|root| root.join(CLAUDE_INSTALLER.project_folder));
    let nearest =
        project.iter().flat_map(|folder| ["settings.local.json", "settings.json"].map(|name| folder.join(name)));
    let user = (CLAUDE_INSTALLER.user_folder)(place).ok().map(|folder| folder.join("settings.json"));
    let said = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        Some((merge::value_of(&text, "disableAllHooks")?.as_bool()?, path))
    };
    let (is_banned, path) = nearest.chain(user).find_map(said)?;
    is_banned.then(|| {
        let path = path.display();
        format!("Claude runs no hook at all, because {path} says \"disableAllHooks\": true. Take that out, or set it to false")
    })
}

fn hook_entry(site: &InstallContext<'_>) -> Value {
    let command = hook_command::hook_command_by_path(site.own, &format!("{HOST_NAME}{}", timeout_flag(site.seconds)));
    json!({ "type": "command", "command": command, "timeout": site.seconds })
}

fn command_parts(site: &InstallContext<'_>) -> impl Iterator<Item = InstallPart> {
    SLASH_COMMANDS.iter().map(|command| {
        let hint = Some(("argument-hint", command.argument_hint)).filter(|(_, hint)| !hint.is_empty());
        let head = [("description", command.description), ("disable-model-invocation", "true")];
        let head: Vec<_> = head.into_iter().chain(hint).collect();
        let text = command.render_markdown(&site.ralph_shell_word(), "$ARGUMENTS", &head);
        InstallPart::whole_file(site.path_of(&format!("commands/{}.md", command.name)), text)
    })
}

fn plugin_parts(site: &InstallContext<'_>) -> Vec<InstallPart> {
    let about = json!({ "name": "ralph", "version": env!("CARGO_PKG_VERSION"),
        "description": "Works in a session until a task is proven done" });
    let entry = json!([{ "hooks": [hook_entry(site)] }]);
    let hooks: serde_json::Map<_, _> = HOOK_EVENTS.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
    let whole = |name: &str, value: &Value| InstallPart::whole_file(site.path_of(name), format!("{value:#}\n"));
    let files = [whole(".claude-plugin/plugin.json", &about), whole("hooks/hooks.json", &json!({ "hooks": hooks }))];
    command_parts(site).chain(files).collect()
}

fn post_install_advice(scope: &InstallScope) -> Option<String> {
    match scope {
        InstallScope::User | InstallScope::Project(_) => None,
        InstallScope::Plugin(folder) => Some(format!(
            "start it with `claude --plugin-dir {}`; the commands are /ralph:ralph, /ralph:cancel-ralph and so on",
            folder.display()
        )),
    }
}
