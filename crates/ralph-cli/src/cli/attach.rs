//! `ralph attach`.
use std::io;
use std::time::Duration;

use clap::Args;
use ralph_core::outcome::{Ended, Outcome, exit_code};

use super::follow::{Last, Place, Until, cut_short, follow};
use super::run::{Proof, Story};
use super::{block_on, out, pick};
use crate::error::Failure;
use crate::report::{Detail, Elsewhere, PlainReport, Replay};
use ralph_app::view::{event_line, one_or_many, short_id};
use ralph_engine::engine::{self, AgentChoice, Audience, RunSettings, SettingsError, StoredAgent};
use ralph_engine::project::Project;
use ralph_store::{RunRow, Store};

/// Follows a run to its end and returns its exit code
///
/// Without RUN, the newest that is running. Shows the last iterations in short and then what happens, as the
/// run's own terminal would, without its filters. Ctrl-C leaves; the run goes on.
#[derive(Debug, Args)]
pub struct AttachArgs {
    run: Option<String>,
    /// Shows only iterations, claims and verdicts
    #[arg(long, short)]
    quiet: bool,
    /// Prints every event from the first one on as a line of JSON
    #[arg(long)]
    json: bool,
}

/// How many iterations of the past are shown.
const PAST: i64 = 3;

pub fn run(args: &AttachArgs) -> Result<u8, Failure> {
    block_on(async {
        let (store, run) = match &args.run {
            Some(part) => pick::run(Some(part)).await?,
            None => pick::running().await?,
        };
        tokio::select! {
            last = watch(args, &store, &run) => conclude(args, &store, &run, last?).await,
            _ = tokio::signal::ctrl_c() => Ok(leave(&run)),
        }
    })
}

async fn watch(args: &AttachArgs, store: &Store, run: &RunRow) -> Result<Last, Failure> {
    if args.json {
        let show = |rows: &[_], _| rows.iter().for_each(|row| out::line(&event_line(&run.id, row)));
        return follow(store, &run.id, Until::End, show).await;
    }
    let mut replay = replay(args, run)?;
    let show = |rows: &[_], place| {
        replay.facts(rows);
        if place == Place::CaughtUp {
            replay.catch_up();
        }
    };
    follow(store, &run.id, Until::End, show).await
}

fn replay(args: &AttachArgs, run: &RunRow) -> Result<Replay<Elsewhere>, Failure> {
    let agents = agents_of(run)?;
    let detail = if args.quiet { Detail::Milestones } else { Detail::Everything };
    let past = run.iterations.saturating_sub(PAST).max(0);
    introduce(run, past);
    let first = u32::try_from(past).unwrap_or(u32::MAX).saturating_add(1);
    let most = u32::try_from(run.max_iterations).unwrap_or(u32::MAX);
    let report = move || PlainReport::new(io::stderr(), detail, most).beginning_at(first);
    let report = Elsewhere::start(report);
    let report = report.map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    Ok(Replay::new(&run.id, Project::here()?.run_folder(&run.id), agents, report))
}

/// Returns the agents, if this ralph knows how the run was started. Their words cannot be shown otherwise.
fn agents_of(run: &RunRow) -> Result<Vec<AgentChoice>, Failure> {
    let (id, kind) = (run.id.clone(), run.kind.clone());
    let place = engine::Place { id, kind, project: Project::here()?, audience: Audience::People };
    let nothing = |_: &StoredAgent| Ok::<_, SettingsError>(Vec::new());
    let plan = RunSettings::parse(&run.settings).and_then(|settings| settings.plan(place, nothing));
    Ok(plan.map_or_else(|_| Vec::new(), |plan| std::iter::once(plan.agent).chain(plan.fallback).collect()))
}

fn introduce(run: &RunRow, past: i64) {
    let short = short_id(&run.id);
    out::note(&format!(
        "ralph {} {short} · agent {} · promise {} · at most {}",
        run.kind,
        run.agent,
        run.promise,
        one_or_many(run.max_iterations, "iteration"),
    ));
    if past > 0 {
        out::note(&format!("{} before these: `ralph show {short}`", one_or_many(past, "iteration")));
    }
}

/// Says how the run ended.
async fn conclude(args: &AttachArgs, store: &Store, run: &RunRow, last: Last) -> Result<u8, Failure> {
    let ended = match last {
        Last::Finished => store.runs_like(&run.id).await?.into_iter().next(),
        Last::CutShort => return Ok(died(run)),
        Last::Enough => None,
    };
    let Some((row, ended)) = ended.and_then(|row| ended_of(&row).map(|ended| (row, ended))) else {
        return Ok(0);
    };
    if !args.json {
        let took = row.ended_at.unwrap_or(row.started_at).saturating_sub(row.started_at);
        let took = Duration::from_millis(u64::try_from(took).unwrap_or(0));
        let proof = Proof::of(store, &row.id).await?;
        Story { proof, session: None }.summarise(&ended, took, Some(&row));
    }
    Ok(ended.exit_code)
}

fn ended_of(row: &RunRow) -> Option<Ended> {
    Some(Ended {
        outcome: Outcome::parse(&row.status)?,
        reason: row.reason.clone().unwrap_or_default(),
        exit_code: row.exit_code.and_then(|code| u8::try_from(code).ok())?,
    })
}

/// The run is neither complete nor going on.
fn died(run: &RunRow) -> u8 {
    out::note(&cut_short(&run.id));
    exit_code::NOT_COMPLETE
}

fn leave(run: &RunRow) -> u8 {
    let short = short_id(&run.id);
    out::note(&format!("\nleft; run {short} goes on, and `ralph attach {short}` follows it again"));
    exit_code::SIGINT
}
