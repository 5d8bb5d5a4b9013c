//! GitHub Copilot CLI: a separate file with hooks, and commands as skills.
use serde_json::json;

use crate::install::contents::install_part::InstallPart;
use crate::install::host::{HookFileSharing, HostInstaller, InstallContext};
use crate::install::install_target::InstallScope;

const HOST_NAME: &str = "copilot";

pub(crate) const COPILOT_INSTALLER: HostInstaller = HostInstaller {
    name: HOST_NAME,
    user_folder: |target| target.user_folder("COPILOT_HOME", ".copilot"),
    project_folder: ".github",
    timeout_units_per_second: 1,
    supports_plugin: false,
    build_parts,
    post_install_advice,
    hook_file_sharing: HookFileSharing::Everyone,
    pending_user_action: |_, _| None,
    hooks_disabled_reason: |_| None,
};

fn build_parts(context: &InstallContext<'_>) -> Vec<InstallPart> {
    // Copilot's events do not contain their name, so it is passed as an argument.
    let entry = |event| {
        let command = context.hook_command(&format!("{HOST_NAME} {event}"));
        json!([{ "type": "command", "bash": command, "timeoutSec": context.seconds }])
    };
    let events = ["userPromptSubmitted", "agentStop", "errorOccurred"];
    let hooks: serde_json::Map<_, _> = events.iter().map(|event| ((*event).to_owned(), entry(event))).collect();
    let file = json!({ "version": 1, "hooks": hooks });
    context
        .skill_parts('/')
        .chain([InstallPart::whole_file(context.path_of("hooks/ralph.json"), format!("{file:#}\n"))])
        .collect()
}

fn post_install_advice(scope: &InstallScope) -> Option<String> {
    match scope {
        InstallScope::User | InstallScope::Plugin(_) => None,
        InstallScope::Project(_) => {
            Some("Copilot runs the hooks of a project only in folders that you trust".to_owned())
        }
    }
}
