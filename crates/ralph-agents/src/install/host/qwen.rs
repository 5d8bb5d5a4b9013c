//! Qwen Code: hooks and commands almost as Claude has them.
use serde_json::json;

use super::{Host, Shared, Site};
use crate::install::commands::COMMANDS;
use crate::install::part::Part;
use crate::install::place::Scope;

const NAME: &str = "qwen";

pub(super) const QWEN: Host = Host {
    name: NAME,
    home: |place| place.home("QWEN_HOME", ".qwen"),
    project: ".qwen",
    ticks: 1,
    parts,
    advice,
    shared: Shared::All,
    obstacle: |_, _| None,
    ban: |_| None,
};

fn parts(site: &Site<'_>) -> Vec<Part> {
    let hook =
        json!({ "type": "command", "name": "ralph", "command": site.command(NAME), "timeout": site.seconds });
    let commands = COMMANDS.iter().map(|command| {
        let text = command.markdown(&site.ralph(), "{{args}}", &[("description", command.about)]);
        Part::whole(site.at(&format!("commands/{}.md", command.name)), text)
    });
    let events = &["UserPromptSubmit", "Stop", "StopFailure"];
    commands.chain([site.hooks("settings.json", &hook, events)]).collect()
}

fn advice(scope: &Scope) -> Option<String> {
    match scope {
        Scope::User | Scope::Plugin(_) => None,
        Scope::Project(_) => {
            Some("Qwen runs the hooks of a project only in folders that you trust".to_owned())
        }
    }
}
