//! `ralph attach`: follows a run that another process drives.
use std::io;

use clap::Args;
use ralph_core::outcome::exit_code;

use crate::commands::look::attach_worker::follow_worker;
use crate::commands::look::journal_output::{interrupted_notice, reader_status};
use crate::commands::run::run_report::print_summary;
use crate::commands::workflows::follow_run;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::{PlainReport, ReportDetail, ThreadedReporter};
use ralph_app::background_worker::find_worker_to_follow;
use ralph_app::control::{FollowResult, FollowUntil};
use ralph_app::run::FollowedRun;
use ralph_app::view::{event_json_line, pluralize, short_id};
use ralph_app::workflow_runs::names_workflow_run;
use ralph_engine::project::Project;
use ralph_store::RunRow;

/// Follows a run or a background worker to its end and returns its exit code
///
/// Of a worker (`ralph work --detach`) it shows all tasks and stages. Of a run it shows a summary of the last iterations and then new output, as the terminal of the run does, but without display
/// filters. Ctrl-C detaches; the run continues.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Beginning or end of a run id, a task id, or the id of a worker [default: the only active worker or run]
    #[arg(value_name = "RUN|TASK|WORKER")]
    run: Option<String>,
    /// Shows only iterations, claims and verdicts
    #[arg(long, short)]
    quiet: bool,
    /// Prints every event, from the first one, as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Number of past iterations that are shown before new output.
const PAST_ITERATIONS_SHOWN: i64 = 3;

pub fn run(args: &AttachArgs) -> Result<u8, CommandError> {
    block_on(async {
        let project = Project::find_here()?;
        if let Some(worker) = find_worker_to_follow(&project, args.run.as_deref()).await? {
            return follow_worker(worker, args.json).await;
        }
        if args.run.is_some() && names_workflow_run(&project, args.run.as_deref()).await? {
            return follow_run::attach(&project, args.run.as_deref(), args.json).await;
        }
        let run = FollowedRun::find_active(project, args.run.as_deref()).await?;
        tokio::select! {
            last = follow_run(args, &run) => report_outcome(args, &run, last?).await,
            _ = tokio::signal::ctrl_c() => Ok(print_leave_notice(run.row())),
        }
    })
}

async fn follow_run(args: &AttachArgs, run: &FollowedRun) -> Result<FollowResult, CommandError> {
    if args.json {
        let show = |rows: &[_], _| {
            rows.iter().for_each(|row| out::print_line(&event_json_line(&run.row().id, row)));
            reader_status()
        };
        return Ok(run.follow(FollowUntil::RunEnd, show).await?);
    }
    let mut report = start_report(args, run.row())?;
    Ok(run.replay(&mut report, reader_status).await?)
}

fn start_report(args: &AttachArgs, row: &RunRow) -> Result<ThreadedReporter, CommandError> {
    let detail = if args.quiet { ReportDetail::Milestones } else { ReportDetail::Everything };
    let past = row.iterations.saturating_sub(PAST_ITERATIONS_SHOWN).max(0);
    print_header(row, past);
    let first = u32::try_from(past).unwrap_or(u32::MAX).saturating_add(1);
    let most = u32::try_from(row.max_iterations).unwrap_or(u32::MAX);
    let report = move || PlainReport::new(io::stderr(), detail, most).starting_at_iteration(first);
    let report = ThreadedReporter::start(report);
    report.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))
}

fn print_header(run: &RunRow, past: i64) {
    let short = short_id(&run.id);
    out::print_note(&format!(
        "ralph {} {short} · agent {} · promise {} · at most {}",
        run.kind,
        run.agent,
        run.promise,
        pluralize(run.max_iterations, "iteration"),
    ));
    if past > 0 {
        out::print_note(&format!("{} not shown; see `ralph show {short}`", pluralize(past, "earlier iteration")));
    }
}

/// Prints how the run ended, and returns its exit code.
async fn report_outcome(args: &AttachArgs, run: &FollowedRun, last: FollowResult) -> Result<u8, CommandError> {
    let summary = match last {
        FollowResult::Finished => run.load_summary().await?,
        FollowResult::Interrupted => return Ok(report_interrupted_run(run.row())),
        FollowResult::StoppedReading => None,
    };
    let Some(summary) = summary else { return Ok(0) };
    if !args.json {
        print_summary(&summary);
    }
    Ok(summary.end.exit_code)
}

/// Reports that no process drives the run any more, and returns the exit code.
fn report_interrupted_run(run: &RunRow) -> u8 {
    out::print_note(&interrupted_notice(&run.id));
    exit_code::NOT_COMPLETE
}

fn print_leave_notice(run: &RunRow) -> u8 {
    let short = short_id(&run.id);
    out::print_note(&format!("\ndetached: run {short} continues; `ralph attach {short}` follows it again"));
    exit_code::SIGINT
}
