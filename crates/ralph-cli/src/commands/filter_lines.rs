//! `ralph filter-lines`: a filter of the user's in a process of its own, so that nothing it does can harm a run.
use std::io;

use clap::Args;
use ralph_core::outcome::exit_code;

use crate::error::CommandError;
use ralph_agents::{FILTER_MEMORY_MB, JqFilter, serve_filter};
use ralph_process::limit_own_memory;

/// Answers each line of standard input with what a jq expression makes of it
#[derive(Debug, Args)]
pub struct FilterLinesArgs {
    expression: String,
}

pub fn run(args: &FilterLinesArgs) -> Result<u8, CommandError> {
    let filter = JqFilter::compile(&args.expression)
        .map_err(|error| CommandError::from_error(exit_code::USAGE_ERROR, &error))?;
    limit_own_memory(FILTER_MEMORY_MB << 20)
        .map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    // Whoever asked is gone: there is nobody to tell.
    let _ = serve_filter(&filter, io::stdin().lock(), io::stdout().lock());
    Ok(0)
}
