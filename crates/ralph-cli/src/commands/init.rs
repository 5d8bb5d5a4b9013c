//! `ralph init`.
use std::path::Path;

use clap::Args;
use ralph_core::outcome::exit_code;

use super::config_args::ConfigArgs;
use super::out;
use crate::error::CommandError;
use ralph_agents as agent;
use ralph_agents::{AGENTS, AgentProgram};
use ralph_app::init::{self, DetectedProject, InitFileOutcome, InitFileResult};
use ralph_app::run::find_enclosing_run;
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

pub fn run(args: &InitArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let found = detect_setup(args, &project.root)?;
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
    let written = init::write_init_files(&project, &found, &names.join(", ")).map_err(|error| {
        CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error)
            .with_hint("nothing that existed was changed; run it again")
    })?;
    let settings = ConfigArgs::default().load_settings(Some(&project))?;
    let is_ours =
        written.iter().any(|file| file.outcome == InitFileOutcome::Created && file.path.ends_with("config.yaml"));
    let is_approved = is_ours && find_enclosing_run(&project).is_none();
    let approved = if is_approved { ralph_app::trust::approve_commands(&project, &settings) } else { Ok(()) };
    let next = match ralph_app::trust::is_approved(&project, &settings) {
        Ok(true) => InitNextStep::Plan,
        Ok(false) | Err(_) => InitNextStep::Approve,
    };
    print_init_summary(&found, &written, next);
    approved.map(|()| 0).map_err(|error| {
        CommandError::from(error).with_hint("the files are there; approve their commands later: ralph trust")
    })
}

/// What the user has to do first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InitNextStep {
    /// The configuration has commands that nobody has approved.
    Approve,
    Plan,
}

fn detect_setup(args: &InitArgs, root: &Path) -> Result<DetectedProject, CommandError> {
    let named = AGENTS.iter().filter_map(|agent| match agent.program() {
        AgentProgram::OnPath(program) => Some((agent.name(), program)),
        AgentProgram::OwnBinary | AgentProgram::UserProvided => None,
    });
    let named: Vec<_> = named.collect();
    let found = init::detect_project(root, &named, |program| process::can_start_program(root, program));
    let Some(name) = &args.agent else { return Ok(found) };
    let agent = agent::find_agent(name).map_err(|error| {
        let hint = error.hint();
        CommandError::from_error(exit_code::USAGE_ERROR, &error).with_hint(hint)
    })?;
    Ok(DetectedProject { agent: Some(agent.name()), ..found })
}

fn print_init_summary(found: &DetectedProject, written: &[InitFileResult], next: InitNextStep) {
    for file in written {
        let what = match file.outcome {
            InitFileOutcome::Created => "wrote",
            InitFileOutcome::Kept => "kept ",
        };
        out::print_message(&format!("{what}  {}", file.path.display()));
    }
    out::print_message(&match found.agent {
        Some(agent) => format!("agent  {agent}"),
        None => "agent  demo, which is scripted: no agent was found on PATH (change `agent:` later)".to_owned(),
    });
    out::print_message(&match found.checks.as_slice() {
        [] => "checks none found: add what must succeed under `checks:`".to_owned(),
        checks => format!("checks {}", checks.join(", ")),
    });
    out::print_message(&format!(
        "\nNext{}\n  write what you want into {}/\n  ralph plan      makes the plan\n  ralph build     works it off, one task an iteration",
        match next {
            InitNextStep::Approve =>
                "\n  ralph trust     approves the commands of the configuration, after a look at them",
            InitNextStep::Plan => "",
        },
        found.specs_dir
    ));
}
