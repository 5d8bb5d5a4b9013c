//! `ralph runs`.
use clap::Args;

use crate::commands::args::value_parsers::parse_run_limit;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::run::list_runs;
use ralph_app::view::{self, run_lines};
use ralph_engine::project::Project;

/// Lists the runs of this project, newest first
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Lists at most N runs
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = parse_run_limit)]
    limit: u32,
    /// Prints an array of objects, each with at least id and status
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RunsArgs) -> Result<u8, CommandError> {
    block_on(async {
        let runs = list_runs(&Project::find_here_or_outside()?, args.limit).await?;
        if args.json {
            let rows: Vec<_> = runs.iter().map(view::run_json).collect();
            out::print_line(&serde_json::Value::from(rows).to_string());
        } else if runs.is_empty() {
            out::print_note("no runs yet; start one with `ralph run`");
        } else {
            run_lines(&runs).iter().for_each(|line| out::print_message(line));
        }
        Ok(0)
    })
}
