//! `ralph workflow rerun`.
use std::collections::BTreeMap;

use clap::Args;
use ralph_app::workflow_runs::{RerunRequest, prepare_rerun};
use ralph_engine::project::Project;

use super::run::{CommandDriver, DriveArgs, DriverSetup, parse_input};
use crate::commands::args::agent_args::AgentArgs;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::out;
use crate::commands::run::execute::with_keeper;
use crate::error::CommandError;

/// Runs a workflow again from a node, and reuses the finished nodes before it
///
/// The new run works in the work tree of the first one, and has a copy of its artifacts. The definition is that of the
/// first run.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  ralph workflow rerun 3f2a9c41 --from review
  ralph workflow rerun 3f2a9c41 --from implement --agent codex")]
pub struct RerunArgs {
    /// The start or end of the id of the run [default: the newest workflow run]
    run: Option<String>,
    /// The first node that runs again; all that depend on it follow
    #[arg(long, value_name = "NODE")]
    from: String,
    /// A named input that replaces that of the run; repeat for more
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = parse_input)]
    inputs: Vec<(String, String)>,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    drive: DriveArgs,
}

pub fn run(args: &RerunArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let mut settings = args.drive.load_settings(&project)?;
    args.agent.apply(&mut settings);
    // The keeper is forked before the store starts a thread.
    with_keeper(|keeper| async move {
        let request = RerunRequest {
            run: args.run.as_deref(),
            from: &args.from,
            inputs: args.inputs.iter().cloned().collect::<BTreeMap<_, _>>(),
            settings: &settings,
            extra_agent_args: args.agent.extra_args(),
            replaces_agents: args.agent.names_agent(),
        };
        let prepared = prepare_rerun(&project, request, &TerminalInteraction).await?;
        for note in &prepared.notes {
            out::print_note(&format!("note: {note}"));
        }
        let setup = DriverSetup { args: &args.drive, settings, project, startup: None };
        CommandDriver::start(prepared, setup, keeper).await
    })
}
