//! GitHub Copilot CLI: a file of hooks beside others, and skills for commands.
use serde_json::json;

use super::{Host, Shared, Site};
use crate::install::part::Part;
use crate::install::place::Scope;

const NAME: &str = "copilot";

pub(super) const COPILOT: Host = Host {
    name: NAME,
    home: |place| place.home("COPILOT_HOME", ".copilot"),
    project: ".github",
    ticks: 1,
    parts,
    advice,
    shared: Shared::All,
    obstacle: |_, _| None,
    ban: |_| None,
};

fn parts(site: &Site<'_>) -> Vec<Part> {
    // Its events do not say which they are.
    let entry = |event| json!([{ "type": "command", "bash": site.command(&format!("{NAME} {event}")), "timeoutSec": site.seconds }]);
    let events = ["userPromptSubmitted", "agentStop", "errorOccurred"];
    let hooks: serde_json::Map<_, _> =
        events.iter().map(|event| ((*event).to_owned(), entry(event))).collect();
    let file = json!({ "version": 1, "hooks": hooks });
    site.skills('/').chain([Part::whole(site.at("hooks/ralph.json"), format!("{file:#}\n"))]).collect()
}

fn advice(scope: &Scope) -> Option<String> {
    match scope {
        Scope::User | Scope::Plugin(_) => None,
        Scope::Project(_) => {
            Some("Copilot runs the hooks of a project only in folders that you trust".to_owned())
        }
    }
}
