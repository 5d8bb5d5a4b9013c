//! `ralph export`.
use clap::Args;

use super::{block_on, out, run_lookup};
use crate::error::CommandError;
use ralph_app::run::FoundRun;
use ralph_app::view::event_json_line;

/// Prints a run as one file: a header and its journal, as JSON lines
///
/// Without RUN, the newest. Raw logs stay where they are. `ralph import` reads the file in elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph export > run.jsonl")]
pub struct ExportArgs {
    run: Option<String>,
}

const EVENTS_PER_PAGE: u32 = 1_000;

pub fn run(args: &ExportArgs) -> Result<u8, CommandError> {
    block_on(async {
        let FoundRun { store, run } = run_lookup::find_run(args.run.as_deref()).await?;
        let header = store.export_header(&run).await?;
        out::print_line(&serde_json::to_string(&header).unwrap_or_default());
        let mut last_seq = 0;
        loop {
            let rows = store.events_after(&run.id, last_seq, EVENTS_PER_PAGE).await?;
            // A run that goes on writes more than the header announces.
            let announced = rows.iter().filter(|row| row.seq <= header.facts);
            announced.for_each(|row| out::print_line(&event_json_line(&run.id, row)));
            match rows.last() {
                Some(last) => last_seq = last.seq,
                None => return Ok(0),
            }
        }
    })
}
