//! `ralph agents`: lists the supported agents and parses their output.
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use clap::{Args, Subcommand};
use jiff::Zoned;
use ralph_core::outcome::exit_code;
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::args::completion_values;
use crate::commands::out;
use crate::error::CommandError;
use ralph_agents as agent;
use ralph_agents::detect_installed::{self, AgentPresence};
use ralph_agents::replay_output::read_events;
use ralph_agents::{AGENTS, Agent, AgentEvent, AgentExit, AttemptSummaryBuilder, DefaultGrant, PermissionLevel};

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
    /// Prints an array of {name, status, path, version, format, can_resume, permissions}
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
        Some(AgentsSubcommand::Parse(args)) => parse_agent_output(args),
        None => {
            list_agents(args.json);
            Ok(0)
        }
    }
}

/// Returns the agent with this name. The error suggests known agents.
pub fn find_agent(name: &str) -> Result<&'static dyn Agent, CommandError> {
    agent::find_agent(name).map_err(|error| {
        let hint = error.hint();
        CommandError::from_error(exit_code::USAGE_ERROR, &error).with_hint(hint)
    })
}

fn parse_agent_output(args: &AgentsParseArgs) -> Result<u8, CommandError> {
    let agent = find_agent(&args.name)?;
    let mut summary = AttemptSummaryBuilder::default();
    let counts = read_events(agent.output_format(), &mut io::stdin().lock(), &mut |events| {
        print_events(events, &mut summary)
    })
    .map_err(|error| CommandError::preflight_error("cannot read standard input").with_cause(error.to_string()))?;
    let exit = match args.exit_code {
        None => AgentExit::Unknown,
        Some(signal @ ..0) => AgentExit::Signal(signal.saturating_neg()),
        Some(code) => AgentExit::Code(code),
    };
    out::print_line(&to_json_text(&summary.into_summary(agent, counts, exit, &Zoned::now())));
    Ok(0)
}

fn print_events(events: &[AgentEvent], summary: &mut AttemptSummaryBuilder) -> ControlFlow<()> {
    let mut lines = String::new();
    for event in events {
        summary.record_event(event);
        lines.push_str(&to_json_text(event));
        lines.push('\n');
    }
    out::print_data(&lines);
    if out::has_reader() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn to_json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn list_agents(json: bool) {
    let here = std::env::current_dir().unwrap_or_default();
    if json {
        let all: Vec<Value> = AGENTS.iter().map(|agent| agent_json(*agent, &here)).collect();
        return out::print_line(&Value::from(all).to_string());
    }
    out::print_line(&format_row(["agent", "version", "resumes", "default permission", "program"]));
    for agent in AGENTS {
        let presence = detect_installed::detect_agent(*agent, &here);
        let resumes = if agent.can_resume() { "yes" } else { "no" };
        let default_permission = match agent.grants().default_grant {
            DefaultGrant::Level(permission) => permission.name(),
            DefaultGrant::AgentSettings(_) => "its own settings",
        };
        let version = agent_version(&presence).unwrap_or("-");
        out::print_line(&format_row([
            agent.name(),
            version,
            resumes,
            default_permission,
            &program_location(&presence),
        ]));
    }
}

fn format_row([name, version, resumes, permission, program]: [&str; 5]) -> String {
    format!("{name:<9} {version:<16} {resumes:<8} {permission:<20} {program}")
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

fn agent_version(presence: &AgentPresence) -> Option<&str> {
    match presence {
        AgentPresence::Installed { version, .. } => version.as_deref(),
        AgentPresence::BuiltIn => Some(env!("CARGO_PKG_VERSION")),
        AgentPresence::Missing | AgentPresence::Broken { .. } | AgentPresence::UserProvided => None,
    }
}

fn agent_json(agent: &dyn Agent, folder: &Path) -> Value {
    let presence = detect_installed::detect_agent(agent, folder);
    let (status, path) = match &presence {
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
        "version": agent_version(&presence),
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
        all[permission.name()] = json!(grants.grant_for(*permission).ok().map(|grant| grant.description));
    }
    all
}
