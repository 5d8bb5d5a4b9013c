//! OpenCode: a plugin, which asks ralph, and commands in Markdown.
use serde_json::Value;

use super::{Host, Shared, Site};
use crate::install::call;
use crate::install::commands::COMMANDS;
use crate::install::part::Part;
use crate::install::place::Scope;

const PLUGIN: &str = include_str!("../texts/opencode.js");

pub(super) const OPENCODE: Host = Host {
    name: "opencode",
    home: |place| Ok(place.home("XDG_CONFIG_HOME", ".config")?.join("opencode")),
    project: ".opencode",
    ticks: 1000,
    parts,
    advice,
    shared: Shared::All,
    obstacle: |_, _| None,
    ban: |_| None,
};

fn parts(site: &Site<'_>) -> Vec<Part> {
    let plugin =
        PLUGIN.replace("\"{{ralph}}\"", &Value::from(call::program(site.scope, site.own)).to_string());
    let plugin = plugin.replace("\"{{seconds}}\"", &site.seconds.to_string());
    let commands = COMMANDS.iter().map(|command| {
        let text = command.markdown(&site.ralph(), "$ARGUMENTS", &[("description", command.about)]);
        Part::whole(site.at(&format!("command/{}.md", command.name)), text)
    });
    commands.chain([Part::whole(site.at("plugin/ralph.js"), plugin)]).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "other hosts have nothing to say")]
fn advice(_scope: &Scope) -> Option<String> {
    Some(
        "a loop needs OpenCode's own screen, or `opencode serve`: `opencode run` ends before it can go on"
            .to_owned(),
    )
}
