//! `ralph mcp`.
use clap::Args;
use ralph_app::config::ConfigSource;
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;
use ralph_mcp::{McpContext, serve_stdio};

use crate::commands::block_on;
use crate::error::CommandError;
use crate::hints;

/// Serves tools to an agent over the Model Context Protocol, on stdin and stdout
///
/// The agent's program starts it. An agent of a run reads its own task with them, reports progress, claims completion, asks for a
/// wait, says that it is blocked, and creates follow-up tasks. Any other agent only reads. No tool approves, accepts, guides or
/// lands.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  claude mcp add --scope user ralph -- ralph mcp
  codex mcp add ralph -- ralph mcp
  ralph help --guide mcp        how to add it to other agents")]
pub struct McpArgs {}

pub fn run(_args: &McpArgs) -> Result<u8, CommandError> {
    let project = Project::find_here_or_outside()?;
    let settings = ConfigSource::default().load_settings(Some(&project)).unwrap_or_default();
    let context = McpContext { project, settings, hints: hints::for_error };
    block_on(async {
        let served = serve_stdio(context).await;
        served.map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))
    })?;
    Ok(exit_code::COMPLETED)
}
