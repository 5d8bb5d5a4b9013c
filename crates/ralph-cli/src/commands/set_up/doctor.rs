//! `ralph doctor`: checks the agents and the machine.
use std::io;
use std::time::Duration;

use clap::Args;
use ralph_core::outcome::exit_code;
use serde_json::{Value, json};

use crate::commands::args::value_parsers::parse_duration;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::out;
use crate::commands::run::execute::with_keeper;
use crate::error::CommandError;
use crate::hints;
use crate::report::{ColorMode, TextStyle};
use ralph_agents::Agent;
use ralph_app::agents::find_supported_agent;
use ralph_app::doctor::{AgentHealth, DiagnosisRequest, DoctorFinding, DoctorReport, FindingStatus, diagnose};
use ralph_engine::project::Project;

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
        args.agents.iter().map(|name| find_supported_agent(name)).collect::<Result<_, _>>()?;
    let request = DiagnosisRequest { project: Project::find_here(), agents: requested, version_timeout: args.timeout };
    with_keeper(async |keeper| {
        let report = diagnose(request, &keeper, &TerminalInteraction).await;
        if args.json {
            print_json(&report);
        } else {
            print_report(&report);
        }
        Ok(match report.overall_status() {
            FindingStatus::Bad => exit_code::PREFLIGHT_FAILED,
            FindingStatus::Good | FindingStatus::Note | FindingStatus::Warning => exit_code::COMPLETED,
        })
    })
}

fn print_json(report: &DoctorReport) {
    let checks: Vec<Value> = report.checks.iter().map(finding_json).collect();
    let agents: Vec<Value> = report.agents.iter().map(agent_json).collect();
    let whole = json!({ "status": report.overall_status(), "agents": agents, "checks": checks });
    out::print_line(&whole.to_string());
}

fn agent_json(agent: &AgentHealth) -> Value {
    let findings: Vec<Value> = agent.findings.iter().map(finding_json).collect();
    json!({ "name": agent.name, "path": agent.path, "version": agent.version, "findings": findings })
}

fn finding_json(finding: &DoctorFinding) -> Value {
    let hint = finding.advice.as_ref().map(hints::for_advice);
    json!({ "name": finding.name, "status": finding.status, "what": finding.message, "hint": hint })
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
    out::print_message(&format!("  {mark} {:<11}  {}", finding.name, finding.message));
    if let Some(hint) = finding.advice.as_ref().map(hints::for_advice) {
        out::print_message(&format!("  {:<8} {:<11}  {hint}", "", ""));
    }
}
