//! `ralph workflow`: its subcommands.
use clap::{Args, Subcommand};
use ralph_app::workflows;

use super::{decide, graph, list, rerun, run, show, test, validate};
use crate::commands::out;
use crate::error::CommandError;

/// Workflows: YAML graphs of agents, loops, scripts, checks and approvals
///
/// ralph reads the files of .ralph/workflows and .archon/workflows in the repository, and those of
/// ~/.config/ralph/workflows and ~/.archon/workflows. The guide describes the format.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph workflow list                          what can be started here
  ralph workflow validate                      check all files
  ralph workflow graph plan-build --svg > plan-build.svg")]
pub struct WorkflowCommand {
    #[command(subcommand)]
    what: WorkflowSubcommand,
}

#[derive(Debug, Subcommand)]
enum WorkflowSubcommand {
    Run(Box<run::RunWorkflowArgs>),
    Approve(Box<decide::ApproveArgs>),
    Reject(Box<decide::WorkflowRejectArgs>),
    Respond(Box<decide::RespondArgs>),
    Rerun(Box<rerun::RerunArgs>),
    List(list::ListArgs),
    Show(show::WorkflowShowArgs),
    Validate(validate::ValidateArgs),
    Test(test::TestArgs),
    Graph(graph::GraphArgs),
    /// Prints the JSON schema of workflow files, for editors
    Schema,
}

pub fn run(args: &WorkflowCommand) -> Result<u8, CommandError> {
    match &args.what {
        WorkflowSubcommand::Run(args) => run::run(args),
        WorkflowSubcommand::Approve(args) => decide::approve(args),
        WorkflowSubcommand::Reject(args) => decide::reject(args),
        WorkflowSubcommand::Respond(args) => decide::respond(args),
        WorkflowSubcommand::Rerun(args) => rerun::run(args),
        WorkflowSubcommand::List(args) => Ok(list::run(args)),
        WorkflowSubcommand::Show(args) => show::run(args),
        WorkflowSubcommand::Validate(args) => validate::run(args),
        WorkflowSubcommand::Test(args) => test::run(args),
        WorkflowSubcommand::Graph(args) => graph::run(args),
        WorkflowSubcommand::Schema => {
            out::print_line(&format!("{:#}", workflows::workflow_schema()));
            Ok(0)
        }
    }
}
