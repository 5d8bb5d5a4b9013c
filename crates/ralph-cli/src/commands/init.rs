//! `ralph init`: writes the configuration and prompts of a project.
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

/// Prepares this project for `ralph plan` and `ralph build`
///
/// Detects which agent is installed and how the project is tested, and writes a commented configuration and prompts for
/// planning and building to .ralph. It asks no questions and does not change existing files. The commands that it
/// writes are approved (see `ralph trust`), unless the agent of a run starts it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph init
  ralph init --agent demo && ralph plan && ralph build       try it without an account")]
pub struct InitArgs {
    /// Agent for this project, instead of the detected one
    #[arg(long)]
    agent: Option<String>,
}

pub fn run(args: &InitArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let found = detect_setup(args, &project.root)?;
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
    let written = init::write_init_files(&project, &found, &names.join(", ")).map_err(|error| {
        CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error)
            .with_hint("existing files were not changed; run `ralph init` again")
    })?;
    let settings = ConfigArgs::default().load_settings(Some(&project))?;
    let is_new_config =
        written.iter().any(|file| file.outcome == InitFileOutcome::Created && file.path.ends_with("config.yaml"));
    let is_approved = is_new_config && find_enclosing_run(&project).is_none();
    let approved = if is_approved { ralph_app::trust::approve_commands(&project, &settings) } else { Ok(()) };
    let next = match ralph_app::trust::is_approved(&project, &settings) {
        Ok(true) => InitNextStep::Plan,
        Ok(false) | Err(_) => InitNextStep::Approve,
    };
    print_init_summary(&found, &written, next);
    approved.map(|()| 0).map_err(|error| {
        CommandError::from(error).with_hint("the files were written; approve their commands with `ralph trust`")
    })
}

/// The next step for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InitNextStep {
    /// The configuration has commands that are not approved.
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
        let verb = match file.outcome {
            InitFileOutcome::Created => "wrote",
            InitFileOutcome::Kept => "kept ",
        };
        out::print_message(&format!("{verb}  {}", file.path.display()));
    }
    out::print_message(&match found.agent {
        Some(agent) => format!("agent  {agent}"),
        None => "agent  demo (scripted): no agent was found on PATH; change `agent:` later".to_owned(),
    });
    out::print_message(&match found.checks.as_slice() {
        [] => "checks none found: add commands that must succeed under `checks:`".to_owned(),
        checks => format!("checks {}", checks.join(", ")),
    });
    out::print_message(&format!(
        "\nNext{}\n  write what you want into {}/\n  ralph plan      writes the implementation plan\n  \
         ralph build     implements it, one task per iteration",
        match next {
            InitNextStep::Approve => "\n  ralph trust     shows the commands of the configuration for approval",
            InitNextStep::Plan => "",
        },
        found.specs_dir
    ));
}
