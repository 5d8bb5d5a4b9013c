//! `ralph events`: prints the journal of a run.
use clap::Args;

use crate::commands::look::journal_output::{interrupted_notice, reader_status};
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::control::{FollowResult, FollowUntil};
use ralph_app::run::FollowedRun;
use ralph_app::view::event_json_line;
use ralph_engine::project::Project;

/// Prints the journal of a run as JSON lines
///
/// Every line has event, run, seq and at; the other fields depend on the event.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Beginning or end of a run id, or a task id [default: the newest run]
    #[arg(value_name = "RUN|TASK")]
    run: Option<String>,
    /// Prints new events until the run ends
    #[arg(long, short)]
    follow: bool,
    /// Has no effect, because events are always JSON lines; accepted for consistency
    #[arg(long)]
    json: bool,
}

pub fn run(args: &EventsArgs) -> Result<u8, CommandError> {
    let until = if args.follow { FollowUntil::RunEnd } else { FollowUntil::Now };
    block_on(async {
        let run = FollowedRun::find_newest(Project::find_here_or_outside()?, args.run.as_deref()).await?;
        if args.run.is_none() {
            out::print_newest_run_note(run.row());
        }
        let id = &run.row().id;
        let show = |rows: &[_], _| {
            rows.iter().for_each(|row| out::print_line(&event_json_line(id, row)));
            reader_status()
        };
        match run.follow(until, show).await? {
            FollowResult::Finished | FollowResult::StoppedReading => {}
            FollowResult::Interrupted => out::print_note(&interrupted_notice(id)),
        }
        Ok(0)
    })
}
