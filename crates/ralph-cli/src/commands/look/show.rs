//! `ralph show`.
use clap::Args;

use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::run::load_run_view;
use ralph_engine::project::Project;

/// Shows a run: its outcome, iterations, claims and verdicts
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The start or end of a run id [default: the newest run]
    run: Option<String>,
    /// Prints one object: id, kind, outcome, reason, iterations
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ShowArgs) -> Result<u8, CommandError> {
    let view = block_on(async { Ok(load_run_view(&Project::find_here_or_outside()?, args.run.as_deref()).await?) })?;
    if args.json {
        out::print_line(&view.to_json().to_string());
    } else {
        out::print_wrapped(&view.to_text());
    }
    Ok(0)
}
