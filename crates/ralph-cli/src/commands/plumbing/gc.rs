//! `ralph gc`: removes logs of old runs, and merged work trees.
use std::time::Duration;

use clap::Args;
use ralph_app::maintenance::{GcReport, GcRequest, GcScope, RemovalMode, collect_garbage};
use ralph_app::view::{format_bytes, pluralize, short_id};
use ralph_engine::project::Project;
use serde_json::{Value, json};

use crate::commands::args::value_parsers::{parse_duration, parse_kept_runs};
use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Removes raw logs and session logs of old runs, and work trees whose work is merged
///
/// Also removes the old execution log. The journal and the notes stay, so `ralph show` still shows the run. Active runs
/// are never changed, and links are not followed. Work trees of closed tasks and of ended runs are removed if
/// everything in them is committed and merged, and so are the merged branches of closed tasks. In runs that stay, ralph joins the log fragments of a
/// killed process.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph gc --dry-run
  ralph gc --older-than 7d --keep 20")]
pub struct GcArgs {
    /// Removes only runs that ended at least this long ago
    #[arg(long, value_name = "TIME", default_value = "30d", allow_hyphen_values = true, value_parser = parse_duration)]
    older_than: Duration,
    /// Keeps the newest N runs, regardless of their age
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = parse_kept_runs)]
    keep: u32,
    /// Removes these runs completely, including journal, results and notes
    #[arg(long)]
    all: bool,
    /// Shows what would be removed, without removing it
    #[arg(long)]
    dry_run: bool,
    /// Prints one object: dry_run, freed_bytes, runs, old_execution_log_bytes, joined_logs, trees, branches, failures
    #[arg(long)]
    json: bool,
}

pub fn run(args: &GcArgs) -> Result<u8, CommandError> {
    let request = GcRequest {
        older_than: args.older_than,
        keep_newest: args.keep,
        scope: if args.all { GcScope::WholeRuns } else { GcScope::Logs },
        mode: if args.dry_run { RemovalMode::DryRun } else { RemovalMode::Remove },
    };
    let report = block_on(async { Ok(collect_garbage(&Project::find_here()?, request).await?) })?;
    print_report(args, &report);
    match report.first_error() {
        Some(error) => Err(error.into()),
        None => Ok(0),
    }
}

fn print_report(args: &GcArgs, report: &GcReport) {
    let freed = report.freed_bytes();
    if args.json {
        let runs: Vec<Value> = report
            .runs
            .iter()
            .map(|run| json!({ "id": run.id, "freed_bytes": run.freed_bytes, "forgotten": args.all }))
            .collect();
        let failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
        let object = json!({
            "dry_run": args.dry_run,
            "freed_bytes": freed,
            "runs": runs,
            "old_execution_log_bytes": report.execution_log_bytes,
            "joined_logs": report.joined_logs,
            "trees": report.worktrees.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "branches": report.branches,
            "failures": failures,
        });
        return out::print_line(&object.to_string());
    }
    for run in &report.runs {
        out::print_line(&format!("{}  {:>9}", short_id(&run.id), format_bytes(run.freed_bytes)));
    }
    if report.execution_log_bytes > 0 {
        let verb = if args.dry_run { "would remove" } else { "removed" };
        out::print_line(&format!("{verb} the old execution log: {}", format_bytes(report.execution_log_bytes)));
    }
    let verb = match (args.all, args.dry_run) {
        (false, false) => "removed the logs of",
        (false, true) => "would remove the logs of",
        (true, false) => "removed",
        (true, true) => "would remove",
    };
    let count = pluralize(i64::try_from(report.runs.len()).unwrap_or(i64::MAX), "run");
    out::print_line(&format!("{verb} {count}: {}", format_bytes(freed)));
    for path in &report.worktrees {
        let verb = if args.dry_run { "would remove" } else { "removed" };
        out::print_line(&format!("{verb} the work tree {}, whose work is merged", path.display()));
    }
    for branch in &report.branches {
        let verb = if args.dry_run { "would remove" } else { "removed" };
        out::print_line(&format!("{verb} the branch {branch}, whose work is merged"));
    }
    if report.joined_logs > 0 {
        let verb = if args.dry_run { "would join" } else { "joined" };
        let logs = pluralize(i64::try_from(report.joined_logs).unwrap_or(i64::MAX), "log");
        out::print_line(&format!("{verb} the fragments of {logs}"));
    }
}
