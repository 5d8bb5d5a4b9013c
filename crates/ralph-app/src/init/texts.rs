//! Renders the files that `ralph init` writes.
use super::detect::DetectedProject;

const PLAN_PROMPT: &str = include_str!("texts/plan.md");
const BUILD_PROMPT: &str = include_str!("texts/build.md");
const CONFIG_TEMPLATE: &str = include_str!("texts/config.yaml");
const SPECS_README: &str = include_str!("texts/specs.md");
const WORKFLOW_TEMPLATE: &str = include_str!("texts/workflow.yaml");
const GITIGNORE_TEXT: &str = include_str!("texts/gitignore");

/// The path of the example workflow, relative to ralph's home.
pub(super) const EXAMPLE_WORKFLOW: &str = "workflows/example.yaml";

/// A file to write; its path is relative to ralph's home or to the project's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InitFile {
    Home(&'static str),
    Root(String),
}

/// Returns all files with their text. `home` is the path of ralph's home from the root, such as `.ralph/`; `agents`
/// lists all known agents.
pub(super) fn init_files(found: &DetectedProject, home: &str, agents: &str) -> Vec<(InitFile, String)> {
    let plan = format!("{home}implementation_plan.md");
    let prompt = |text: &str| text.replace("{{plan}}", &plan).replace("{{checks}}", &check_advice(found));
    vec![
        (InitFile::Home("config.yaml"), render_config(found, agents)),
        (InitFile::Home("prompts/plan.md"), prompt(PLAN_PROMPT)),
        (InitFile::Home("prompts/build.md"), prompt(BUILD_PROMPT)),
        (InitFile::Home(EXAMPLE_WORKFLOW), render_workflow(found)),
        (InitFile::Home(".gitignore"), GITIGNORE_TEXT.to_owned()),
        (InitFile::Root(format!("{}/README.md", found.specs_dir)), SPECS_README.to_owned()),
    ]
}

fn render_config(found: &DetectedProject, agents: &str) -> String {
    CONFIG_TEMPLATE
        .replace("{{agents}}", agents)
        .replace("{{agent}}", found.agent.unwrap_or("demo"))
        .replace("{{checks}}", &render_checks(found))
        .replace("{{specs_dir}}", found.specs_dir)
}

fn render_checks(found: &DetectedProject) -> String {
    let mut lines = vec![if found.checks.is_empty() { "checks: []" } else { "checks:" }.to_owned()];
    lines.extend(found.checks.iter().map(|check| format!("  - {check}")));
    lines.extend(found.missing_checks.iter().map(|check| format!("#  - {check}   # program not found")));
    if found.checks.is_empty() && found.missing_checks.is_empty() {
        lines.push("#  - make test".to_owned());
    }
    lines.join("\n")
}

fn render_workflow(found: &DetectedProject) -> String {
    let checks: String = found.checks.iter().map(|check| format!("        - {check}\n")).collect();
    WORKFLOW_TEMPLATE.replace("{{checks}}\n", &format!("{checks}\n"))
}

/// Returns the sentence about checks for the build prompt.
fn check_advice(found: &DetectedProject) -> String {
    match found.checks.as_slice() {
        [] => "Run the tests of this project; if there are none, write some.".to_owned(),
        checks => {
            let checks: Vec<String> = checks.iter().map(|check| format!("`{check}`")).collect();
            format!("Run {} and any other command that shows that it works.", checks.join(", "))
        }
    }
}
