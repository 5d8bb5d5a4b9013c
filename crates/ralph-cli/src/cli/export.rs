//! `ralph export`.
use clap::Args;

use super::{block_on, out, pick};
use crate::error::Failure;
use ralph_app::view::event_line;

/// Prints a run as one file: a header and its journal, as JSON lines
///
/// Without RUN, the newest. Raw logs stay where they are. `ralph import` reads the file in elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph export > run.jsonl")]
pub struct ExportArgs {
    run: Option<String>,
}

const PAGE: u32 = 1_000;

pub fn run(args: &ExportArgs) -> Result<u8, Failure> {
    block_on(async {
        let (store, run) = pick::run(args.run.as_deref()).await?;
        let header = store.header(&run).await?;
        out::line(&serde_json::to_string(&header).unwrap_or_default());
        let mut seen = 0;
        loop {
            let rows = store.events(&run.id, seen, PAGE).await?;
            // A run that goes on writes more than the header announces.
            let announced = rows.iter().filter(|row| row.seq <= header.facts);
            announced.for_each(|row| out::line(&event_line(&run.id, row)));
            match rows.last() {
                Some(last) => seen = last.seq,
                None => return Ok(0),
            }
        }
    })
}
