//! `ralph events`.
use std::time::Duration;

use clap::Args;

use super::{block_on, out, pick};
use crate::error::Failure;
use crate::project::Project;
use crate::store::Store;
use crate::view::{event_line, short_id};

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

/// How often a followed journal is read.
const PAUSE: Duration = Duration::from_millis(200);
const PAGE: u32 = 1_000;

pub fn run(args: &EventsArgs) -> Result<u8, Failure> {
    block_on(async {
        let (store, run) = pick::run(args.run.as_deref()).await?;
        let project = Project::here()?;
        let mut seen = 0;
        loop {
            // Looked at before the journal is read: what it wrote last is then read too.
            let cut_short = pick::is_cut_short(&project, &run.id);
            let finished = print_page(&store, &run.id, &mut seen).await?;
            if finished || !args.follow {
                return Ok(0);
            }
            if cut_short {
                let short = short_id(&run.id);
                out::note(&format!(
                    "nobody drives this run any more; `ralph resume {short}` goes on with it"
                ));
                return Ok(0);
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// Prints what is new; tells whether the run has finished.
async fn print_page(store: &Store, run: &str, seen: &mut i64) -> Result<bool, Failure> {
    let mut finished = false;
    loop {
        let rows = store.events(run, *seen, PAGE).await?;
        for row in &rows {
            *seen = row.seq;
            finished = row.body.contains("\"event\":\"run.finished\"");
            out::line(&event_line(run, row));
        }
        if rows.len() < PAGE as usize {
            return Ok(finished);
        }
    }
}
