//! The files that `ralph init` writes, filled in.
use super::found::Found;

const PLAN: &str = include_str!("texts/plan.md");
const BUILD: &str = include_str!("texts/build.md");
const CONFIG: &str = include_str!("texts/config.yaml");
const SPECS: &str = include_str!("texts/specs.md");
const IGNORED: &str = include_str!("texts/gitignore");

/// A file to write, by its path from the home or from the project's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Home(&'static str),
    Root(String),
}

/// Returns every file. `home` is how the home is written from the root, such as `.ralph/`; `agents` are the names of
/// all known agents.
pub(super) fn texts(found: &Found, home: &str, agents: &str) -> Vec<(Place, String)> {
    let plan = format!("{home}implementation_plan.md");
    let prompt = |text: &str| text.replace("{{plan}}", &plan).replace("{{checks}}", &advice(found));
    vec![
        (Place::Home("config.yaml"), config(found, agents)),
        (Place::Home("prompts/plan.md"), prompt(PLAN)),
        (Place::Home("prompts/build.md"), prompt(BUILD)),
        (Place::Home(".gitignore"), IGNORED.to_owned()),
        (Place::Root(format!("{}/README.md", found.specs_dir)), SPECS.to_owned()),
    ]
}

fn config(found: &Found, agents: &str) -> String {
    CONFIG
        .replace("{{agents}}", agents)
        .replace("{{agent}}", found.agent.unwrap_or("demo"))
        .replace("{{checks}}", &checks(found))
        .replace("{{specs_dir}}", found.specs_dir)
}

fn checks(found: &Found) -> String {
    let mut lines = vec![if found.checks.is_empty() { "checks: []" } else { "checks:" }.to_owned()];
    lines.extend(found.checks.iter().map(|check| format!("  - {check}")));
    lines
        .extend(found.missing.iter().map(|check| format!("#  - {check}   # its program was not found here")));
    if found.checks.is_empty() && found.missing.is_empty() {
        lines.push("#  - make test".to_owned());
    }
    lines.join("\n")
}

/// Returns the sentence of the build prompt about checks.
fn advice(found: &Found) -> String {
    match found.checks.as_slice() {
        [] => "Run the tests of this project; where there are none, write some.".to_owned(),
        checks => {
            let checks: Vec<String> = checks.iter().map(|check| format!("`{check}`")).collect();
            format!("Run {} and what else shows that it works.", checks.join(", "))
        }
    }
}
