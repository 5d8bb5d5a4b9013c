//! `ralph events`.
use clap::Args;

use super::follow::{FollowResult, FollowUntil, follow_journal, interrupted_notice};
use super::{block_on, out, run_lookup};
use crate::error::CommandError;
use ralph_app::run::FoundRun;
use ralph_app::view::event_json_line;

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
        let show = |rows: &[_], _| rows.iter().for_each(|row| out::print_line(&event_json_line(&run.id, row)));
        match follow_journal(&store, &run.id, until, show).await? {
            FollowResult::Finished | FollowResult::StoppedReading => {}
            FollowResult::Interrupted => out::print_note(&interrupted_notice(&run.id)),
        }
        Ok(0)
    })
}
