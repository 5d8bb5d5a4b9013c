//! Gemini CLI: hooks in its settings, with times in milliseconds; commands in TOML.
use serde_json::json;

use super::{Host, Shared, Site};
use crate::install::commands::COMMANDS;
use crate::install::part::Part;
use crate::install::place::Scope;

const NAME: &str = "gemini";

pub(super) const GEMINI: Host = Host {
    name: NAME,
    home: |place| Ok(place.home("GEMINI_CLI_HOME", "")?.join(".gemini")),
    project: ".gemini",
    ticks: 1000,
    parts,
    advice,
    shared: Shared::All,
    obstacle: |_, _| None,
    ban: |_| None,
};

fn parts(site: &Site<'_>) -> Vec<Part> {
    let hook = json!({ "type": "command", "name": "ralph", "command": site.command(NAME), "timeout": site.seconds * GEMINI.ticks });
    let commands = COMMANDS.iter().map(|command| {
        let text = toml_text(&command.text(&site.ralph(), "{{args}}"));
        let toml = format!("description = {:?}\nprompt = {text}\n", command.about);
        Part::whole(site.at(&format!("commands/{}.toml", command.name)), toml)
    });
    commands.chain([site.hooks("settings.json", &hook, &["BeforeAgent", "AfterAgent"])]).collect()
}

fn advice(scope: &Scope) -> Option<String> {
    match scope {
        Scope::User | Scope::Plugin(_) => None,
        Scope::Project(_) => {
            Some("Gemini runs the hooks of a project only in folders that you trust".to_owned())
        }
    }
}

/// Writes a text of many lines as TOML has it.
fn toml_text(text: &str) -> String {
    format!("\"\"\"\n{}\"\"\"", text.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\""))
}
