//! `ralph init`.
use std::path::Path;

use clap::Args;
use ralph_core::outcome::exit_code;

use super::around::run_around;
use super::config_args::ConfigArgs;
use super::{out, trust};
use crate::error::Failure;
use ralph_agents as agent;
use ralph_agents::{AGENTS, Program};
use ralph_app::init::{self, Found, Made, Written};
use ralph_engine::project::Project;
use ralph_process as process;

/// Makes this project ready for `ralph plan` and `ralph build`
///
/// Finds out which agent is installed and how the project is tested, and writes a commented configuration and prompts
/// for planning and building into .ralph. It asks nothing and changes no file that exists; the commands that it wrote
/// itself are approved (see `ralph trust`), unless an agent of a run has it done.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph init
  ralph init --agent demo && ralph plan && ralph build       try the method without an account")]
pub struct InitArgs {
    /// The agent for this project, instead of the one that is found
    #[arg(long)]
    agent: Option<String>,
}

pub fn run(args: &InitArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    let found = found(args, &project.root)?;
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
    let written = init::write(&project, &found, &names.join(", ")).map_err(|error| {
        Failure::new(exit_code::PREFLIGHT, &error).hint("nothing that existed was changed; run it again")
    })?;
    let settings = ConfigArgs::default().settings(Some(&project))?;
    let is_ours = written.iter().any(|file| file.made == Made::New && file.path.ends_with("config.yaml"));
    let is_approved = is_ours && run_around(&project).is_none();
    let approved = if is_approved { trust::approve(&project, &settings) } else { Ok(()) };
    let next = match trust::is_approved(&project, &settings) {
        Ok(true) => Next::Plan,
        Ok(false) | Err(_) => Next::Approve,
    };
    tell(&found, &written, next);
    approved
        .map(|()| 0)
        .map_err(|failure| failure.hint("the files are there; approve their commands later: ralph trust"))
}

/// What the user has to do first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The configuration has commands that nobody has approved.
    Approve,
    Plan,
}

fn found(args: &InitArgs, root: &Path) -> Result<Found, Failure> {
    let named = AGENTS.iter().filter_map(|agent| match agent.program() {
        Program::Named(program) => Some((agent.name(), program)),
        Program::OwnBinary | Program::Required => None,
    });
    let named: Vec<_> = named.collect();
    let found = init::look(root, &named, |program| process::is_program(root, program));
    let Some(name) = &args.agent else { return Ok(found) };
    let agent = agent::find(name).map_err(|error| {
        let hint = error.hint();
        Failure::new(exit_code::USAGE, &error).hint(hint)
    })?;
    Ok(Found { agent: Some(agent.name()), ..found })
}

fn tell(found: &Found, written: &[Written], next: Next) {
    for file in written {
        let what = match file.made {
            Made::New => "wrote",
            Made::Kept => "kept ",
        };
        out::say(&format!("{what}  {}", file.path.display()));
    }
    out::say(&match found.agent {
        Some(agent) => format!("agent  {agent}"),
        None => {
            "agent  demo, which is scripted: no agent was found on PATH (change `agent:` later)".to_owned()
        }
    });
    out::say(&match found.checks.as_slice() {
        [] => "checks none found: add what must succeed under `checks:`".to_owned(),
        checks => format!("checks {}", checks.join(", ")),
    });
    out::say(&format!(
        "\nNext{}\n  write what you want into {}/\n  ralph plan      makes the plan\n  ralph build     works it off, one task an iteration",
        match next {
            Next::Approve =>
                "\n  ralph trust     approves the commands of the configuration, after a look at them",
            Next::Plan => "",
        },
        found.specs_dir
    ));
}
