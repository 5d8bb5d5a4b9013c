//! `ralph init`: writes the configuration and prompts of a project.
use clap::Args;

use crate::commands::interaction::TerminalInteraction;
use crate::commands::out;
use crate::error::CommandError;
use ralph_app::init::{DetectedProject, InitFileOutcome, InitFileResult, InitNextStep, initialize_project};
use ralph_engine::project::Project;

/// Prepares this project for `ralph plan` and `ralph build`
///
/// Detects which agent is installed and how the project is tested, and writes a commented configuration, prompts for
/// planning and building, and an example of a workflow to .ralph. It asks no questions and does not change existing files. The commands that it
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
    let report = initialize_project(&Project::find_here()?, args.agent.as_deref(), &TerminalInteraction)?;
    print_init_summary(&report.detected, &report.files, report.next_step);
    report.approval?;
    Ok(0)
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
