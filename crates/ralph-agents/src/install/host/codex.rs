//! Codex: hooks in a file of their own, which Codex runs only after the user has trusted them; skills for commands.
use serde_json::json;

use super::{Host, Shared, Site, codex_trust};
use crate::install::merge;
use crate::install::own::{Ours, Own};
use crate::install::part::Part;
use crate::install::place::{Place, Scope};

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
    ban: |_| None,
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

/// Codex writes down in the user's own folder which hooks are trusted, also of those in projects.
fn obstacle(place: &Place<'_>, own: &Own) -> Option<String> {
    let config = (CODEX.home)(place).ok()?.join("config.toml");
    let config = std::fs::read_to_string(config).unwrap_or_default();
    let file = CODEX.folder(place).ok()?.join("hooks.json");
    let ours = Ours::new(NAME, own, None);
    let hooks = merge::ours(&std::fs::read_to_string(&file).ok()?, |command| ours.is(command)).ok()?;
    codex_trust::refusal(&config, &file, &hooks)
}
