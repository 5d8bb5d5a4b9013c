//! `ralph agents`: which there are, and what their output comes to.
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use clap::{Args, Subcommand};
use jiff::Zoned;
use ralph_core::outcome::exit_code;
use serde::Serialize;
use serde_json::{Value, json};

use super::{offer, out};
use crate::error::Failure;
use ralph_agents as agent;
use ralph_agents::hearing::read_events;
use ralph_agents::survey::{self, Presence};
use ralph_agents::{AGENTS, Agent, AgentEvent, Exit, Permission, Summary, Usual};

/// Lists the agents that ralph knows, and which of them are installed
///
/// Starts none of them: `ralph doctor` does, and says more.
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
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    Parse(ParseArgs),
}

/// Reads an agent's output from standard input and prints what ralph understands of it, as JSON lines
///
/// One event a line; the last line is the attempt: {"event":"attempt","ok",…}. What is unknown is null. Exit code 0: it
/// was read, whatever it says.
#[derive(Debug, Args)]
struct ParseArgs {
    /// The agent that printed it
    #[arg(value_parser = offer::agents(), hide_possible_values = true)]
    name: String,
    /// What the agent exited with; minus the number of the signal that killed it. Without it, its output alone decides
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i32>,
}

pub fn run(args: &AgentsArgs) -> Result<u8, Failure> {
    match &args.what {
        Some(What::Parse(args)) => parse(args),
        None => {
            list(args.json);
            Ok(0)
        }
    }
}

/// Returns an agent, or says what there is.
pub fn named(name: &str) -> Result<&'static dyn Agent, Failure> {
    agent::find(name).map_err(|error| {
        let hint = error.hint();
        Failure::new(exit_code::USAGE, &error).hint(hint)
    })
}

fn parse(args: &ParseArgs) -> Result<u8, Failure> {
    let agent = named(&args.name)?;
    let mut summary = Summary::default();
    let counts =
        read_events(agent.format(), &mut io::stdin().lock(), &mut |events| print(events, &mut summary))
            .map_err(|error| Failure::preflight("standard input cannot be read").cause(error.to_string()))?;
    let exit = match args.exit_code {
        None => Exit::Unknown,
        Some(signal @ ..0) => Exit::Signal(signal.saturating_neg()),
        Some(code) => Exit::Code(code),
    };
    out::line(&written(&summary.attempt(agent, counts, exit, &Zoned::now())));
    Ok(0)
}

fn print(events: &[AgentEvent], summary: &mut Summary) -> ControlFlow<()> {
    let mut lines = String::new();
    for event in events {
        summary.note(event);
        lines.push_str(&written(event));
        lines.push('\n');
    }
    out::data(&lines);
    if out::is_read() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn list(json: bool) {
    let here = std::env::current_dir().unwrap_or_default();
    if json {
        let all: Vec<Value> = AGENTS.iter().map(|agent| described(*agent, &here)).collect();
        return out::line(&Value::from(all).to_string());
    }
    out::line(&row(["agent", "version", "resumes", "unless you say more", "program"]));
    for agent in AGENTS {
        let presence = survey::look(*agent, &here);
        let resumes = if agent.can_resume() { "yes" } else { "no" };
        let usual = match agent.grants().usual {
            Usual::Given(permission) => permission.name(),
            Usual::Own(_) => "its own settings",
        };
        let version = version(&presence).unwrap_or("-");
        out::line(&row([agent.name(), version, resumes, usual, &place(&presence)]));
    }
}

fn row([name, version, resumes, usual, program]: [&str; 5]) -> String {
    format!("{name:<9} {version:<16} {resumes:<8} {usual:<20} {program}")
}

fn place(presence: &Presence) -> String {
    match presence {
        Presence::Installed { path, .. } => path.display().to_string(),
        Presence::Missing => "not on PATH".to_owned(),
        Presence::Broken { why } => why.clone(),
        Presence::BuiltIn => "part of ralph".to_owned(),
        Presence::Yours => "the one that you name".to_owned(),
    }
}

fn version(presence: &Presence) -> Option<&str> {
    match presence {
        Presence::Installed { version, .. } => version.as_deref(),
        Presence::BuiltIn => Some(env!("CARGO_PKG_VERSION")),
        Presence::Missing | Presence::Broken { .. } | Presence::Yours => None,
    }
}

fn described(agent: &dyn Agent, folder: &Path) -> Value {
    let presence = survey::look(agent, folder);
    let (status, path) = match &presence {
        Presence::Installed { path, .. } => ("installed", Some(path.display().to_string())),
        Presence::Missing => ("missing", None),
        Presence::Broken { .. } => ("broken", None),
        Presence::BuiltIn => ("built_in", None),
        Presence::Yours => ("yours", None),
    };
    json!({
        "name": agent.name(),
        "status": status,
        "path": path,
        "version": version(&presence),
        "format": agent.format().name(),
        "can_resume": agent.can_resume(),
        "permissions": permissions(agent),
    })
}

/// What each permission allows; null where it cannot be had.
fn permissions(agent: &dyn Agent) -> Value {
    let grants = agent.grants();
    let usual = match grants.usual {
        Usual::Given(permission) => Some(permission.name()),
        Usual::Own(_) => None,
    };
    let mut all = json!({ "usual": usual });
    for permission in Permission::ALL {
        all[permission.name()] = json!(grants.of(*permission).ok().map(|grant| grant.means));
    }
    all
}
