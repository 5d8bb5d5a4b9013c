//! `ralph show`.
use clap::Args;

use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::hints;
use ralph_app::control::waits_for_decision;
use ralph_app::run::load_run_view;
use ralph_app::view::short_id;
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
    let project = Project::find_here_or_outside()?;
    let view = block_on(async { Ok(load_run_view(&project, args.run.as_deref()).await?) })?;
    if args.json {
        out::print_line(&view.to_json().to_string());
        return Ok(0);
    }
    out::print_wrapped(&view.to_text());
    if view.is_blocked() && block_on(async { Ok(waits_for_decision(&project, view.id()).await?) })? {
        out::print_note(&format!("decide: {}", hints::for_waiting_claim(short_id(view.id()))));
    }
    Ok(0)
}
