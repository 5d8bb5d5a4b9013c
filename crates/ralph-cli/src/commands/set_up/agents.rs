//! `ralph agents`: lists the supported agents and parses their output.
use std::io;
use std::ops::ControlFlow;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::args::completion_values;
use crate::commands::out;
use crate::error::CommandError;
use ralph_agents::detect_installed::AgentPresence;
use ralph_agents::{Agent, AgentEvent, AgentProgram, DefaultGrant, FileAccess, PermissionLevel};
use ralph_app::agents::{AgentListItem, find_supported_agent, list_agents, parse_agent_output};

/// Lists the agents that ralph supports, and which of them are installed
///
/// Does not start them. `ralph doctor` starts them and reports more.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  ralph agents
  codex exec --json … | ralph agents parse codex
  ralph agents parse claude --exit-code 1 < iteration-001.ndjson"
)]
pub struct AgentsArgs {
    /// Prints an array of {name, status, path, version, tested_version, format, can_resume, permissions}
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    what: Option<AgentsSubcommand>,
}

#[derive(Debug, Subcommand)]
enum AgentsSubcommand {
    Parse(AgentsParseArgs),
}

/// Parses an agent's output from standard input and prints its events as JSON lines
///
/// Prints one event per line; the last line is the attempt: {"event":"attempt","ok",…}. Unknown values are null. The
/// exit code is 0 if the output could be read, whatever it contains.
#[derive(Debug, Args)]
struct AgentsParseArgs {
    /// Agent that printed the output
    #[arg(value_parser = completion_values::agent_name_parser(), hide_possible_values = true)]
    name: String,
    /// Exit code of the agent, or minus the number of the signal that killed it; without it, only the output decides
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i32>,
}

pub fn run(args: &AgentsArgs) -> Result<u8, CommandError> {
    match &args.what {
        Some(AgentsSubcommand::Parse(args)) => print_parsed_output(args),
        None => {
            print_agent_list(args.json);
            Ok(0)
        }
    }
}

fn print_parsed_output(args: &AgentsParseArgs) -> Result<u8, CommandError> {
    let agent = find_supported_agent(&args.name)?;
    let attempt = parse_agent_output(agent, args.exit_code, &mut io::stdin().lock(), print_events)
        .map_err(|error| CommandError::preflight_error("cannot read standard input").with_cause(error.to_string()))?;
    out::print_line(&to_json_text(&attempt));
    Ok(0)
}

fn print_events(events: &[AgentEvent]) -> ControlFlow<()> {
    let lines: String = events.iter().map(|event| to_json_text(event) + "\n").collect();
    out::print_data(&lines);
    if out::has_reader() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn to_json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn print_agent_list(json: bool) {
    let agents = list_agents(&std::env::current_dir().unwrap_or_default());
    if json {
        let all: Vec<Value> = agents.iter().map(agent_json).collect();
        return out::print_line(&Value::from(all).to_string());
    }
    out::print_line(&format_row(["agent", "version", "resumes", "default permission", "program"]));
    for item in &agents {
        let resumes = if item.agent.can_resume() { "yes" } else { "no" };
        let default_permission = match item.agent.grants().default_grant {
            DefaultGrant::Level(permission) => permission.name(),
            DefaultGrant::AgentSettings(_) => "its own settings",
        };
        let version = item.version().unwrap_or("-");
        let untested = if is_untested(item.agent) { " (never run by this project)" } else { "" };
        let program = program_location(&item.presence) + untested;
        out::print_line(&format_row([item.agent.name(), version, resumes, default_permission, &program]));
    }
}

/// Returns whether the adapter was written from the program's documentation alone.
fn is_untested(agent: &dyn Agent) -> bool {
    matches!(agent.program(), AgentProgram::OnPath(_)) && agent.profile().tested_version.is_none()
}

fn format_row([name, version, resumes, permission, program]: [&str; 5]) -> String {
    format!("{name:<16} {version:<16} {resumes:<8} {permission:<20} {program}")
}

fn program_location(presence: &AgentPresence) -> String {
    match presence {
        AgentPresence::Installed { path, .. } => path.display().to_string(),
        AgentPresence::Missing => "not on PATH".to_owned(),
        AgentPresence::Broken { reason } => reason.clone(),
        AgentPresence::BuiltIn => "built in".to_owned(),
        AgentPresence::UserProvided => "set with --agent-cmd".to_owned(),
    }
}

fn agent_json(item: &AgentListItem) -> Value {
    let agent = item.agent;
    let (status, path) = match &item.presence {
        AgentPresence::Installed { path, .. } => ("installed", Some(path.display().to_string())),
        AgentPresence::Missing => ("missing", None),
        AgentPresence::Broken { .. } => ("broken", None),
        AgentPresence::BuiltIn => ("built_in", None),
        AgentPresence::UserProvided => ("yours", None),
    };
    json!({
        "name": agent.name(),
        "status": status,
        "path": path,
        "version": item.version(),
        "tested_version": agent.profile().tested_version,
        "format": agent.output_format().name(),
        "can_resume": agent.can_resume(),
        "permissions": permissions_json(agent),
    })
}

/// Maps each permission level to what it allows, or to null if the agent does not support it.
fn permissions_json(agent: &dyn Agent) -> Value {
    let grants = agent.grants();
    let usual = match grants.default_grant {
        DefaultGrant::Level(permission) => Some(permission.name()),
        DefaultGrant::AgentSettings(_) => None,
    };
    let mut all = json!({ "usual": usual });
    for permission in PermissionLevel::ALL {
        all[permission.name()] = json!(grants.level_description(*permission, FileAccess::Edit).ok());
    }
    all
}
