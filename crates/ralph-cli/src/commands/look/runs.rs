//! `ralph runs`.
use std::io;

use clap::Args;

use crate::commands::args::value_parsers::parse_run_limit;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::TextTable;
use ralph_app::run::list_runs;
use ralph_app::view::{RUN_COLUMNS, run_cells, run_json};
use ralph_engine::project::Project;
use ralph_store::RunRow;

/// Lists the runs of this project, newest first
///
/// The prompt is the first line of the prompt, after the task and the role of a stage. `ralph show` has the reason of an
/// outcome.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph runs
  ralph runs -n 100
  ralph runs --all --json | jq -r '.[] | select(.status == \"blocked\") | .id'")]
pub struct RunsArgs {
    /// Lists at most N runs
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = parse_run_limit)]
    limit: u32,
    /// Lists all runs
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Prints an array of objects, each with at least id and status
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RunsArgs) -> Result<u8, CommandError> {
    let limit = if args.all { u32::MAX - 1 } else { args.limit };
    block_on(async {
        // One more than is shown tells whether there are more.
        let mut runs = list_runs(&Project::find_here_or_outside()?, limit.saturating_add(1)).await?;
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = runs.len() > shown;
        runs.truncate(shown);
        if args.json {
            let rows: Vec<_> = runs.iter().map(run_json).collect();
            out::print_line(&serde_json::Value::from(rows).to_string());
        } else {
            print_table(&runs);
        }
        if has_more {
            out::print_note(&format!("only the newest {shown} runs are listed; --all lists all of them, -n N more"));
        }
        Ok(0)
    })
}

fn print_table(runs: &[RunRow]) {
    if runs.is_empty() {
        return out::print_note("no runs yet; start one with `ralph run`");
    }
    let table = TextTable::new(RUN_COLUMNS, runs.iter().map(run_cells).collect());
    out::print_data(&table.render_for(&io::stdout()));
}
