//! `ralph events`.
use clap::Args;

use super::journal_output::{interrupted_notice, reader_status};
use super::{block_on, out, run_lookup};
use crate::error::CommandError;
use ralph_app::control::{FollowResult, FollowUntil, JournalFollower};
use ralph_app::run::FoundRun;
use ralph_app::view::event_json_line;
use ralph_engine::project::Project;

/// Prints the journal of a run as JSON lines
///
/// Without RUN, the newest. Every line has event, run, seq and at; the rest depends on the event.
#[derive(Debug, Args)]
pub struct EventsArgs {
    run: Option<String>,
    /// Goes on printing until the run ends
    #[arg(long, short)]
    follow: bool,
    /// Events are JSON lines anyway; accepted because every reading command has it
    #[arg(long)]
    json: bool,
}

pub fn run(args: &EventsArgs) -> Result<u8, CommandError> {
    let until = if args.follow { FollowUntil::RunEnd } else { FollowUntil::Now };
    block_on(async {
        let FoundRun { store, run } = run_lookup::find_run(args.run.as_deref()).await?;
        let project = Project::find_here()?;
        let follower = JournalFollower { project: &project, store: &store, run: &run.id, until };
        let show = |rows: &[_], _| {
            rows.iter().for_each(|row| out::print_line(&event_json_line(&run.id, row)));
            reader_status()
        };
        match follower.follow_journal(show).await? {
            FollowResult::Finished | FollowResult::StoppedReading => {}
            FollowResult::Interrupted => out::print_note(&interrupted_notice(&run.id)),
        }
        Ok(0)
    })
}
