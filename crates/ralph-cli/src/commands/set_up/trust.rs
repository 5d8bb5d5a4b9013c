//! `ralph trust`.
use clap::Args;

use crate::commands::args::config_args::ConfigArgs;
use crate::commands::{confirm, out};
use crate::error::CommandError;
use ralph_app::state::{StateEvidence, adopt_old_state};
use ralph_app::trust::{self, TrustStatus, format_command};
use ralph_app::workflow_runs::{approve_workflows, has_unapproved_workflows, list_workflow_files};
use ralph_engine::project::Project;

/// Approves the commands in this project's configuration
///
/// A repository can contain commands that other people wrote: the agent's program, its arguments and environment
/// variables, checks, and permissions of the agent. It can also loosen your rules, for example with verification.tests: off.
/// ralph starts no run until you approve all of this, and asks again when something of it changes. Commands that you type, and the file that you name with --config, need no approval. Agents cannot approve.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph trust                     shows the commands, asks, and approves them
  ralph trust --yes               approves them without asking, for scripts
  ralph trust --show              only shows them
  ralph trust --remove            revokes the approval
  ralph trust --state             takes over the runs that an earlier ralph recorded in the project

The list of approved projects is ~/.local/state/ralph/trusted.json (or below XDG_STATE_HOME).")]
pub struct TrustArgs {
    /// Shows the commands and whether they are approved, without changes
    #[arg(long, conflicts_with = "remove")]
    show: bool,
    /// Revokes the approval
    #[arg(long)]
    remove: bool,
    /// Approves without asking
    #[arg(long, short, conflicts_with_all = ["show", "remove"])]
    yes: bool,
    /// Takes over the runs and tasks that an earlier version recorded in the project: you know that they are yours
    #[arg(long, conflicts_with_all = ["show", "remove", "yes"])]
    state: bool,
}

pub fn run(args: &TrustArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    if args.remove {
        return revoke_approval(&project);
    }
    if args.state {
        return take_over_old_state(&project);
    }
    let settings = ConfigArgs::default().load_settings(Some(&project))?;
    let commands = &settings.project_commands;
    let workflow_files = list_workflow_files(&project)?;
    if commands.is_empty() && workflow_files.is_empty() {
        out::print_message(
            "nothing to approve: the configuration of this project contains no commands and loosens no rule, and there are no \
             workflows",
        );
        return Ok(0);
    }
    for command in commands.iter().chain(&workflow_files) {
        out::print_message(&format_command(command));
    }
    if args.show {
        let is_open = has_unapproved_workflows(&project)?;
        let status =
            if commands.is_empty() { TrustStatus::Approved } else { trust::approval_status(&project, &settings)? };
        out::print_message(approval_text(if is_open && status == TrustStatus::Approved {
            TrustStatus::Unknown
        } else {
            status
        }));
        return Ok(0);
    }
    trust::refuse_approval_by_agent(&project)?;
    if !args.yes {
        confirm::require_confirmation("not approved")?;
    }
    trust::approve_commands(&project, &settings)?;
    approve_workflows(&project)?;
    out::print_message(&format!("approved for {}", project.root.display()));
    Ok(0)
}

fn take_over_old_state(project: &Project) -> Result<u8, CommandError> {
    trust::refuse_approval_by_agent(project)?;
    let state = project.state_folder();
    let message = match adopt_old_state(project, StateEvidence::GivenByUser)? {
        true => format!("moved the recorded runs to {}", state.display()),
        false => format!("nothing to take over: the state of this project is {}", state.display()),
    };
    out::print_message(&message);
    Ok(0)
}

fn revoke_approval(project: &Project) -> Result<u8, CommandError> {
    let root = project.root.display();
    if trust::revoke_approval(project)? {
        out::print_message(&format!("the approval for {root} is revoked"));
    } else {
        out::print_message(&format!("{root} was not approved"));
    }
    Ok(0)
}

fn approval_text(status: TrustStatus) -> &'static str {
    match status {
        TrustStatus::Approved => "approved",
        TrustStatus::Changed => "not approved: changed since the last approval",
        TrustStatus::Unknown => "not approved",
    }
}
