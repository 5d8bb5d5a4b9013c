//! `ralph doctor`: checks the agents and the machine.
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ralph_core::outcome::exit_code;
use serde_json::json;

use super::agents::find_agent;
use super::config_args::ConfigArgs;
use super::execute::with_keeper;
use super::value_parsers::parse_duration;
use super::{install, out};
use crate::error::CommandError;
use crate::report::{ColorMode, TextStyle};
use ralph_agents::{AGENTS, Agent};
use ralph_app::config::Settings;
use ralph_app::doctor::{
    self, AgentExamination, AgentHealth, AgentUse, DoctorFinding, ExaminedProject, FindingStatus, worst_status,
};
use ralph_engine::project::Project;
use ralph_process::Keeper;

/// Checks that agents and this machine are ready
///
/// Finds the installed agents, asks each for its version, checks for a login, reports known problems of that version,
/// and parses recordings of every agent with its adapter. Then checks git, the settings, the state folder and the disk.
/// Changes nothing. Exit code 0: no problems found; 1: at least one problem.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph doctor                the whole machine
  ralph doctor codex gemini   only these agents; a missing one is a problem")]
pub struct DoctorArgs {
    /// Agents to check, instead of all
    agents: Vec<String>,
    /// Time limit for an agent to print its version
    #[arg(long, value_name = "TIME", default_value = "60s", allow_hyphen_values = true, value_parser = parse_duration)]
    timeout: Duration,
    /// Prints {status, agents, checks}
    #[arg(long)]
    json: bool,
}

pub fn run(args: &DoctorArgs) -> Result<u8, CommandError> {
    let requested: Vec<&'static dyn Agent> =
        args.agents.iter().map(|name| find_agent(name)).collect::<Result<_, _>>()?;
    with_keeper(|keeper| async move {
        let report = run_diagnosis(&keeper, &requested, args.timeout).await;
        if args.json {
            print_json(&report);
        } else {
            print_report(&report);
        }
        Ok(if report.overall_status() == FindingStatus::Bad {
            exit_code::PREFLIGHT_FAILED
        } else {
            exit_code::COMPLETED
        })
    })
}

/// All findings.
struct DoctorReport {
    agents: Vec<AgentHealth>,
    checks: Vec<DoctorFinding>,
}

impl DoctorReport {
    fn overall_status(&self) -> FindingStatus {
        worst_status(self.agents.iter().flat_map(|agent| &agent.findings).chain(&self.checks))
    }
}

async fn run_diagnosis(keeper: &Keeper, requested: &[&'static dyn Agent], timeout: Duration) -> DoctorReport {
    let project = Project::find_here();
    let root =
        project.as_ref().map_or_else(|_| std::env::current_dir().unwrap_or_default(), |found| found.root.clone());
    let (settings_finding, chosen) = check_settings(project.as_ref().ok());
    let examined_project = project
        .as_ref()
        .map(|project| ExaminedProject { root: project.root.clone(), state_folder: project.state_folder() });
    let mut checks = doctor::check_machine(examined_project.as_ref().map_err(ToString::to_string)).await;
    checks.push(settings_finding);
    let examination = AgentExamination {
        root,
        agent_use: AgentUse::Unused,
        version_timeout: timeout,
        own_program: install::find_own_program().ok(),
    };
    DoctorReport { agents: examine_agents(keeper, requested, &examination, &chosen).await, checks }
}

/// Examines all agents concurrently, because some are slow to print their version.
async fn examine_agents(
    keeper: &Keeper,
    requested: &[&'static dyn Agent],
    examination: &AgentExamination,
    chosen: &[&str],
) -> Vec<AgentHealth> {
    let is_requested = |agent: &dyn Agent| requested.iter().any(|other| other.name() == agent.name());
    let agent_use = |agent: &dyn Agent| {
        if is_requested(agent) || chosen.contains(&agent.name()) { AgentUse::Needed } else { AgentUse::Unused }
    };
    let examined = AGENTS.iter().copied().filter(|agent| requested.is_empty() || is_requested(*agent));
    let tasks: Vec<_> = examined
        .map(|agent| {
            let (keeper, examination) =
                (keeper.clone(), AgentExamination { agent_use: agent_use(agent), ..examination.clone() });
            tokio::spawn(async move { doctor::examine_agent(&keeper, agent, &examination).await })
        })
        .collect();
    let mut found = Vec::new();
    for task in tasks {
        found.extend(task.await.ok());
    }
    found
}

/// Loads the settings, and returns the finding and the adapters of the agents that they choose.
fn check_settings(project: Option<&Project>) -> (DoctorFinding, Vec<&'static str>) {
    match ConfigArgs::default().load_settings(project).and_then(|settings| describe_chosen_agents(&settings, project)) {
        Ok((what, adapters)) => {
            (DoctorFinding { name: "settings", status: FindingStatus::Good, what, hint: None }, adapters)
        }
        Err(failure) => {
            let hint = failure.hints.first().cloned();
            (DoctorFinding { name: "settings", status: FindingStatus::Bad, what: failure.message, hint }, Vec::new())
        }
    }
}

/// Describes the agents of a run here, and returns the adapters of those that start the adapter's default program.
fn describe_chosen_agents(
    settings: &Settings,
    project: Option<&Project>,
) -> Result<(String, Vec<&'static str>), CommandError> {
    let root = project.map_or_else(PathBuf::new, |project| project.root.clone());
    let (first, others) = (settings.chosen_agent(&root)?, settings.fallback_agents(&root)?);
    let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
    let what = match names.as_slice() {
        [] => format!("the agent is {}", first.name),
        names => format!("the agent is {}; fallback: {}", first.name, names.join(", ")),
    };
    let own = [&first].into_iter().chain(&others).filter(|agent| agent.overrides.cli.is_none());
    Ok((what, own.map(|agent| agent.adapter.name()).collect()))
}

fn print_json(report: &DoctorReport) {
    let whole = json!({ "status": report.overall_status(), "agents": report.agents, "checks": report.checks });
    out::print_line(&whole.to_string());
}

fn print_report(report: &DoctorReport) {
    let colors = ColorMode::for_stream(&io::stdout());
    for agent in report.agents.iter().filter(|agent| !agent.findings.is_empty()) {
        let version = agent.version.as_deref().unwrap_or_default();
        let path = agent.path.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        out::print_line(format!("{}  {version}  {path}", colors.style_text(TextStyle::Bold, agent.name)).trim_end());
        agent.findings.iter().for_each(|finding| print_finding(colors, finding));
    }
    out::print_line(&colors.style_text(TextStyle::Bold, "machine"));
    report.checks.iter().for_each(|finding| print_finding(colors, finding));
    out::print_line(match report.overall_status() {
        FindingStatus::Good | FindingStatus::Note => "\nno problems found",
        FindingStatus::Warning => "\nno problems found; check the warnings",
        FindingStatus::Bad => "\nproblems found: see the findings marked bad",
    });
}

fn print_finding(colors: ColorMode, finding: &DoctorFinding) {
    let style = match finding.status {
        FindingStatus::Good => TextStyle::Good,
        FindingStatus::Note => TextStyle::Dim,
        FindingStatus::Warning => TextStyle::Warning,
        FindingStatus::Bad => TextStyle::Bad,
    };
    let mark = colors.style_text(style, &format!("{:<8}", finding.status.name()));
    out::print_message(&format!("  {mark} {:<11}  {}", finding.name, finding.what));
    if let Some(hint) = &finding.hint {
        out::print_message(&format!("  {:<8} {:<11}  {hint}", "", ""));
    }
}
