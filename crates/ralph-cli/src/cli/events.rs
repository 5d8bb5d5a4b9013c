//! `ralph events`.
use clap::Args;

use super::follow::{Last, Until, cut_short, follow};
use super::{block_on, out, pick};
use crate::error::Failure;
use ralph_app::view::event_line;

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

pub fn run(args: &EventsArgs) -> Result<u8, Failure> {
    let until = if args.follow { Until::End } else { Until::Now };
    block_on(async {
        let (store, run) = pick::run(args.run.as_deref()).await?;
        let show = |rows: &[_], _| rows.iter().for_each(|row| out::line(&event_line(&run.id, row)));
        match follow(&store, &run.id, until, show).await? {
            Last::Finished | Last::Enough => {}
            Last::CutShort => out::note(&cut_short(&run.id)),
        }
        Ok(0)
    })
}
