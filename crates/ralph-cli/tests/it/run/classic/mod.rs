//! Classic mode: `plan`, `build` and `prompt` with the scripted agent. Here is the stage; the stories are beside it.
mod exits;
mod log;
mod preflight;
mod prompts;

use std::fs;

use crate::harness::{Call, FAKE_AGENT, Project};

/// The end of a prompt of classic mode.
const PROMISE_REQUEST: &str = "When all is done print <promise>COMPLETE</promise>\n";

/// A project with everything that classic mode needs.
pub fn project() -> Project {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph/prompts")).unwrap();
    fs::create_dir(project.root().join("specs")).unwrap();
    project.write(".ralph/prompts/plan.md", format!("Make a plan.\n{PROMISE_REQUEST}"));
    project.write(".ralph/prompts/build.md", format!("Follow the plan.\n{PROMISE_REQUEST}"));
    project.write(".ralph/implementation_plan.md", "- one thing\n");
    project
}

/// Prepares a classic run with the scripted agent, reported for people.
fn run_for_people<'a>(project: &'a Project, args: &[&str], mode: &[&str]) -> Call<'a> {
    let agent = ["--agent", "text", "--agent-cmd", FAKE_AGENT];
    project.ralph(args).args(agent).args(mode.iter().map(|arg| format!("--agent-arg={arg}")))
}

/// The same as JSON lines.
pub fn run<'a>(project: &'a Project, args: &[&str], mode: &[&str]) -> Call<'a> {
    run_for_people(project, args, mode).args(["--json"])
}

/// The same with a shell script as the agent.
fn run_shell<'a>(project: &'a Project, args: &[&str], lines: &str) -> Call<'a> {
    let agent = project.shell(lines);
    project.ralph(args).args(["--agent", "text", "--agent-cmd", &agent, "--json"])
}

/// Returns the names of the session logs.
fn logs(project: &Project) -> Vec<String> {
    let Ok(entries) = fs::read_dir(project.root().join(".ralph/logs")) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("session-"))
        .collect();
    names.sort();
    names
}

/// Returns the text of the only session log.
fn log(project: &Project) -> String {
    let names = logs(project);
    assert_eq!(names.len(), 1, "{names:?}");
    fs::read_to_string(project.root().join(".ralph/logs").join(&names[0])).unwrap()
}
