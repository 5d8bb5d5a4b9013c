//! `ralph doctor`.
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ralph_core::outcome::exit_code;
use serde_json::json;

use super::agents::named;
use super::config_args::ConfigArgs;
use super::run::with_keeper;
use super::values::time;
use super::{install, out};
use crate::error::Failure;
use crate::report::{Paint, Tone};
use ralph_agents::{AGENTS, Agent};
use ralph_app::config::Settings;
use ralph_app::doctor::{self, AgentHealth, Finding, Place, Status, Visit, Wanted, worst};
use ralph_engine::project::Project;
use ralph_process::Keeper;

/// Looks whether agents and machine are fit for work
///
/// Finds the agents that are installed and asks each for its version, looks for signs of a login, names what is known to
/// be odd about that version, and reads recordings of every agent with its adapter. Then git, the settings, the state
/// folder and the disk. Nothing is changed. Exit code 0: nothing is wrong; 1: something is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph doctor                the whole machine
  ralph doctor codex gemini   these agents; one that is missing is wrong")]
pub struct DoctorArgs {
    /// Agents to look at, instead of all
    agents: Vec<String>,
    /// How long an agent may take to say its version
    #[arg(long, value_name = "TIME", default_value = "60s", allow_hyphen_values = true, value_parser = time)]
    timeout: Duration,
    /// Prints {status, agents, checks}
    #[arg(long)]
    json: bool,
}

pub fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let asked: Vec<&'static dyn Agent> =
        args.agents.iter().map(|name| named(name)).collect::<Result<_, _>>()?;
    with_keeper(|keeper| async move {
        let found = diagnose(&keeper, &asked, args.timeout).await;
        if args.json {
            print_json(&found);
        } else {
            print(&found);
        }
        Ok(if found.status() == Status::Bad { exit_code::PREFLIGHT } else { exit_code::COMPLETED })
    })
}

/// All that was found.
struct Diagnosis {
    agents: Vec<AgentHealth>,
    checks: Vec<Finding>,
}

impl Diagnosis {
    fn status(&self) -> Status {
        worst(self.agents.iter().flat_map(|agent| &agent.findings).chain(&self.checks))
    }
}

async fn diagnose(keeper: &Keeper, asked: &[&'static dyn Agent], patience: Duration) -> Diagnosis {
    let project = Project::here();
    let root = project
        .as_ref()
        .map_or_else(|_| std::env::current_dir().unwrap_or_default(), |found| found.root.clone());
    let (setting, chosen) = settings(project.as_ref().ok());
    let place = project.as_ref().map(|project| Place { root: project.root.clone(), state: project.state() });
    let mut checks = doctor::of_machine(place.as_ref().map_err(ToString::to_string)).await;
    checks.push(setting);
    let visit = Visit { root, wanted: Wanted::No, patience, own: install::own().ok() };
    Diagnosis { agents: agents(keeper, asked, &visit, &chosen).await, checks }
}

/// Looks at all agents at once: some take long to say their version.
async fn agents(
    keeper: &Keeper,
    asked: &[&'static dyn Agent],
    visit: &Visit,
    chosen: &[&str],
) -> Vec<AgentHealth> {
    let is_asked = |agent: &dyn Agent| asked.iter().any(|asked| asked.name() == agent.name());
    let wanted = |agent: &dyn Agent| {
        if is_asked(agent) || chosen.contains(&agent.name()) { Wanted::Yes } else { Wanted::No }
    };
    let looked_at = AGENTS.iter().copied().filter(|agent| asked.is_empty() || is_asked(*agent));
    let tasks: Vec<_> = looked_at
        .map(|agent| {
            let (keeper, visit) = (keeper.clone(), Visit { wanted: wanted(agent), ..visit.clone() });
            tokio::spawn(async move { doctor::examine(&keeper, agent, &visit).await })
        })
        .collect();
    let mut found = Vec::new();
    for task in tasks {
        found.extend(task.await.ok());
    }
    found
}

/// Reads the settings, and the adapters that they choose.
fn settings(project: Option<&Project>) -> (Finding, Vec<&'static str>) {
    match ConfigArgs::default().settings(project).and_then(|settings| chosen(&settings, project)) {
        Ok((what, adapters)) => {
            (Finding { name: "settings", status: Status::Good, what, hint: None }, adapters)
        }
        Err(failure) => {
            let hint = failure.hints.first().cloned();
            (Finding { name: "settings", status: Status::Bad, what: failure.message, hint }, Vec::new())
        }
    }
}

/// Says which agents a run here would use, and returns the adapters of those that start the adapter's own program.
fn chosen(settings: &Settings, project: Option<&Project>) -> Result<(String, Vec<&'static str>), Failure> {
    let root = project.map_or_else(PathBuf::new, |project| project.root.clone());
    let (first, others) = (settings.chosen(&root)?, settings.fallbacks(&root)?);
    let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
    let what = match names.as_slice() {
        [] => format!("the agent is {}", first.name),
        names => format!("the agent is {}; if it is rate limited, {}", first.name, names.join(", ")),
    };
    let own = [&first].into_iter().chain(&others).filter(|agent| agent.overrides.cli.is_none());
    Ok((what, own.map(|agent| agent.adapter.name()).collect()))
}

fn print_json(found: &Diagnosis) {
    let whole = json!({ "status": found.status(), "agents": found.agents, "checks": found.checks });
    out::line(&whole.to_string());
}

fn print(found: &Diagnosis) {
    let paint = Paint::for_stream(&io::stdout());
    for agent in found.agents.iter().filter(|agent| !agent.findings.is_empty()) {
        let version = agent.version.as_deref().unwrap_or_default();
        let path = agent.path.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        out::line(format!("{}  {version}  {path}", paint.paint(Tone::Bold, agent.name)).trim_end());
        agent.findings.iter().for_each(|finding| print_finding(paint, finding));
    }
    out::line(&paint.paint(Tone::Bold, "machine"));
    found.checks.iter().for_each(|finding| print_finding(paint, finding));
    out::line(match found.status() {
        Status::Good | Status::Note => "\nnothing is wrong",
        Status::Warning => "\nnothing is wrong; look at the warnings",
        Status::Bad => "\nsomething is wrong: see what is marked bad",
    });
}

fn print_finding(paint: Paint, finding: &Finding) {
    let tone = match finding.status {
        Status::Good => Tone::Good,
        Status::Note => Tone::Dim,
        Status::Warning => Tone::Care,
        Status::Bad => Tone::Bad,
    };
    let mark = paint.paint(tone, &format!("{:<8}", finding.status.name()));
    out::say(&format!("  {mark} {:<11}  {}", finding.name, finding.what));
    if let Some(hint) = &finding.hint {
        out::say(&format!("  {:<8} {:<11}  {hint}", "", ""));
    }
}
