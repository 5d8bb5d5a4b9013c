//! `ralph attach`: follows a run that another process drives.
use std::io;
use std::time::Duration;

use clap::Args;
use ralph_core::outcome::{Outcome, RunEnd, exit_code};

use super::journal_output::{interrupted_notice, reader_status};
use super::run::{ProofLevel, RunSummary};
use super::{block_on, out, run_lookup};
use crate::error::CommandError;
use crate::report::{PlainReport, ReportDetail, RunReplay, ThreadedReporter};
use ralph_app::control::{FollowResult, FollowUntil, JournalFollower, JournalProgress};
use ralph_app::run::FoundRun;
use ralph_app::view::{event_json_line, pluralize, short_id};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{self, AgentChoice, OutputVisibility, RunContext, RunSpec, RunSpecError, StoredAgent};
use ralph_store::{RunRow, Store};

/// Follows a run to its end and returns its exit code
///
/// Shows a summary of the last iterations and then new output, as the terminal of the run does, but without display
/// filters. Ctrl-C detaches; the run continues.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Beginning or end of a run id; without it, the newest active run
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
        let FoundRun { store, run } = match &args.run {
            Some(part) => run_lookup::find_run(Some(part)).await?,
            None => run_lookup::find_active_run().await?,
        };
        tokio::select! {
            last = follow_run(args, &store, &run) => report_outcome(args, &store, &run, last?).await,
            _ = tokio::signal::ctrl_c() => Ok(print_leave_notice(&run)),
        }
    })
}

async fn follow_run(args: &AttachArgs, store: &Store, run: &RunRow) -> Result<FollowResult, CommandError> {
    let project = Project::find_here()?;
    let follower = JournalFollower { project: &project, store, run: &run.id, until: FollowUntil::RunEnd };
    if args.json {
        let show = |rows: &[_], _| {
            rows.iter().for_each(|row| out::print_line(&event_json_line(&run.id, row)));
            reader_status()
        };
        return Ok(follower.follow_journal(show).await?);
    }
    let mut replay = start_replay(args, run)?;
    let show = |rows: &[_], progress| {
        replay.show_facts(rows);
        if progress == JournalProgress::CaughtUp {
            replay.catch_up();
        }
        reader_status()
    };
    Ok(follower.follow_journal(show).await?)
}

fn start_replay(args: &AttachArgs, run: &RunRow) -> Result<RunReplay<ThreadedReporter>, CommandError> {
    let agents = stored_agents(run)?;
    let detail = if args.quiet { ReportDetail::Milestones } else { ReportDetail::Everything };
    let past = run.iterations.saturating_sub(PAST_ITERATIONS_SHOWN).max(0);
    print_header(run, past);
    let first = u32::try_from(past).unwrap_or(u32::MAX).saturating_add(1);
    let most = u32::try_from(run.max_iterations).unwrap_or(u32::MAX);
    let report = move || PlainReport::new(io::stderr(), detail, most).starting_at_iteration(first);
    let report = ThreadedReporter::start(report);
    let report = report.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    Ok(RunReplay::new(&run.id, Project::find_here()?.run_folder(&run.id), agents, report))
}

/// Returns the agents of the run, or none if its settings cannot be parsed; their output is then not shown.
fn stored_agents(run: &RunRow) -> Result<Vec<AgentChoice>, CommandError> {
    let (id, kind) = (run.id.clone(), run.kind.clone());
    let target = run_driver::ResumeTarget {
        run_id: id,
        run_kind: kind,
        project: Project::find_here()?,
        visibility: OutputVisibility::Shown,
    };
    let no_arguments = |_: &StoredAgent| Ok::<_, RunSpecError>(Vec::new());
    let restored = RunSpec::parse(&run.settings).and_then(|spec| RunContext::restore(&spec, target, no_arguments));
    Ok(restored.map_or_else(|_| Vec::new(), |context| std::iter::once(context.agent).chain(context.fallback).collect()))
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
async fn report_outcome(
    args: &AttachArgs,
    store: &Store,
    run: &RunRow,
    last: FollowResult,
) -> Result<u8, CommandError> {
    let ended = match last {
        FollowResult::Finished => store.find_runs_by_id_part(&run.id).await?.into_iter().next(),
        FollowResult::Interrupted => return Ok(report_interrupted_run(run)),
        FollowResult::StoppedReading => None,
    };
    let Some((row, ended)) = ended.and_then(|row| recorded_end(&row).map(|ended| (row, ended))) else {
        return Ok(0);
    };
    if !args.json {
        let took = row.ended_at.unwrap_or(row.started_at).saturating_sub(row.started_at);
        let took = Duration::from_millis(u64::try_from(took).unwrap_or(0));
        let proof = ProofLevel::load(store, &row.id).await?;
        RunSummary { proof, session: None }.print_summary(&ended, took, Some(&row));
    }
    Ok(ended.exit_code)
}

fn recorded_end(row: &RunRow) -> Option<RunEnd> {
    Some(RunEnd {
        outcome: Outcome::parse(&row.status)?,
        reason: row.reason.clone().unwrap_or_default(),
        exit_code: row.exit_code.and_then(|code| u8::try_from(code).ok())?,
    })
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
