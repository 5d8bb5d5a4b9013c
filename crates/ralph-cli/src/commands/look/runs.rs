//! `ralph runs`.
use std::io;

use clap::Args;

use crate::commands::args::value_parsers::parse_run_limit;
use crate::commands::workflows::view_run;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::TextTable;
use ralph_app::run::list_runs;
use ralph_app::view::{RUN_COLUMNS, run_cells, run_json, workflow_run_json};
use ralph_app::workflow_runs::list_workflow_runs;
use ralph_engine::project::Project;
use ralph_store::{RunRow, WorkflowRunRow};

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
        let project = Project::find_here_or_outside()?;
        let runs = list_runs(&project, limit.saturating_add(1)).await?;
        let workflows = list_workflow_runs(&project, limit.saturating_add(1)).await?;
        let mut runs: Vec<ListedRun> =
            runs.into_iter().map(ListedRun::Run).chain(workflows.into_iter().map(ListedRun::Workflow)).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.started_at()));
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = runs.len() > shown;
        runs.truncate(shown);
        if args.json {
            let rows: Vec<_> = runs.iter().map(ListedRun::to_json).collect();
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

/// A row of the list.
enum ListedRun {
    Run(RunRow),
    Workflow(WorkflowRunRow),
}

impl ListedRun {
    fn started_at(&self) -> i64 {
        match self {
            Self::Run(run) => run.started_at,
            Self::Workflow(run) => run.started_at,
        }
    }

    fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Run(run) => run_json(run),
            Self::Workflow(run) => workflow_run_json(run),
        }
    }

    fn cells(&self) -> [String; 6] {
        match self {
            Self::Run(run) => run_cells(run),
            Self::Workflow(run) => view_run::row_cells(run),
        }
    }
}

fn print_table(runs: &[ListedRun]) {
    if runs.is_empty() {
        return out::print_note("no runs yet; start one with `ralph run`");
    }
    let table = TextTable::new(RUN_COLUMNS, runs.iter().map(ListedRun::cells).collect());
    out::print_data(&table.render_for(&io::stdout()));
}
