//! Claude Code: hooks in its settings, commands in Markdown; or everything as a plugin.
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Host, Shared, Site};
use crate::install::call;
use crate::install::commands::COMMANDS;
use crate::install::merge;
use crate::install::part::Part;
use crate::install::patience::flag;
use crate::install::place::{Place, Scope};

const NAME: &str = "claude";

pub(super) const CLAUDE: Host = Host {
    name: NAME,
    home: |place| place.home("CLAUDE_CONFIG_DIR", ".claude"),
    project: ".claude",
    ticks: 1,
    parts,
    advice,
    shared: Shared::One,
    obstacle: |_, _| None,
    ban,
};

const EVENTS: &[&str] = &["UserPromptSubmit", "Stop", "StopFailure"];

fn parts(site: &Site<'_>) -> Vec<Part> {
    let settings = match site.scope {
        Scope::User => site.hooks("settings.json", &hook(site), EVENTS),
        // The other file is for everybody; this one is kept out of git.
        Scope::Project(_) => site.hooks("settings.local.json", &hook(site), EVENTS),
        Scope::Plugin(_) => return plugin(site),
    };
    commands(site).chain([settings]).collect()
}

/// Of its settings the nearest counts.
fn ban(place: &Place<'_>) -> Option<String> {
    let project = place.around.as_ref().map(|root| root.join(CLAUDE.project));
    let nearest = project
        .iter()
        .flat_map(|folder| ["settings.local.json", "settings.json"].map(|name| folder.join(name)));
    let user = (CLAUDE.home)(place).ok().map(|folder| folder.join("settings.json"));
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

fn hook(site: &Site<'_>) -> Value {
    let command = call::by_path(site.own, &format!("{NAME}{}", flag(site.seconds)));
    json!({ "type": "command", "command": command, "timeout": site.seconds })
}

fn commands(site: &Site<'_>) -> impl Iterator<Item = Part> {
    COMMANDS.iter().map(|command| {
        let hint = Some(("argument-hint", command.hint)).filter(|(_, hint)| !hint.is_empty());
        let head = [("description", command.about), ("disable-model-invocation", "true")];
        let head: Vec<_> = head.into_iter().chain(hint).collect();
        let text = command.markdown(&site.ralph(), "$ARGUMENTS", &head);
        Part::whole(site.at(&format!("commands/{}.md", command.name)), text)
    })
}

fn plugin(site: &Site<'_>) -> Vec<Part> {
    let about = json!({ "name": "ralph", "version": env!("CARGO_PKG_VERSION"),
        "description": "Works in a session until a task is proven done" });
    let entry = json!([{ "hooks": [hook(site)] }]);
    let hooks: serde_json::Map<_, _> =
        EVENTS.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
    let whole = |name: &str, value: &Value| Part::whole(site.at(name), format!("{value:#}\n"));
    let files =
        [whole(".claude-plugin/plugin.json", &about), whole("hooks/hooks.json", &json!({ "hooks": hooks }))];
    commands(site).chain(files).collect()
}

fn advice(scope: &Scope) -> Option<String> {
    match scope {
        Scope::User | Scope::Project(_) => None,
        Scope::Plugin(folder) => Some(format!(
            "start it with `claude --plugin-dir {}`; the commands are /ralph:ralph, /ralph:cancel-ralph and so on",
            folder.display()
        )),
    }
}
