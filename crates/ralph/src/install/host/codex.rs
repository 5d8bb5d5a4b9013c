//! Codex: hooks in a file of their own, which Codex runs only after the user has trusted them; skills for commands.
use std::path::Path;

use serde_json::json;

use super::{Host, Shared, Site};
use crate::install::part::Part;
use crate::install::place::Scope;

const NAME: &str = "codex";

pub(super) const CODEX: Host = Host {
    name: NAME,
    home: |place| place.home("CODEX_HOME", ".codex"),
    project: ".codex",
    ticks: 1,
    parts,
    advice,
    shared: Shared::All,
    obstacle,
};

fn parts(site: &Site<'_>) -> Vec<Part> {
    let hook = json!({ "type": "command", "command": site.command(NAME), "timeout": site.seconds });
    site.skills('$').chain([site.hooks("hooks.json", &hook, &["UserPromptSubmit", "Stop"])]).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "other hosts have nothing to say")]
fn advice(_scope: &Scope) -> Option<String> {
    Some(
        "Codex runs no hook before you have looked at it: start `codex`, type /hooks, and trust the two of ralph. \
         The commands are $ralph, $cancel-ralph, $ralph-status and $ralph-tasks"
            .to_owned(),
    )
}

/// Codex writes down which hooks are trusted, by the place of each.
fn obstacle(folder: &Path) -> Option<&'static str> {
    let trusted = std::fs::read_to_string(folder.join("config.toml")).unwrap_or_default();
    let stop = format!("{}:stop:", folder.join("hooks.json").display());
    (!trusted.contains(&stop)).then_some("Codex does not trust them yet: start `codex`, and type /hooks")
}
