//! `ralph show`.
use clap::Args;

use super::{block_on, out, pick};
use crate::error::Failure;
use crate::view::RunView;

/// Shows one run: its outcome, its iterations, what was claimed and what was proven
///
/// Without RUN, the newest. RUN is the beginning or the end of an id.
#[derive(Debug, Args)]
pub struct ShowArgs {
    run: Option<String>,
    /// Prints one object: id, kind, outcome, reason, iterations
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ShowArgs) -> Result<u8, Failure> {
    block_on(async {
        let (store, run) = pick::run(args.run.as_deref()).await?;
        let view = RunView::load(&store, run).await?;
        if args.json {
            out::line(&view.json().to_string());
        } else {
            out::data(&view.text());
        }
        Ok(0)
    })
}
