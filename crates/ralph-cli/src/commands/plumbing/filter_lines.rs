//! `ralph filter-lines`: runs a user's jq filter in a separate process, so that a faulty filter cannot harm a run.
use std::io;

use clap::Args;
use ralph_core::outcome::exit_code;

use crate::error::CommandError;
use ralph_agents::{FILTER_MEMORY_MB, JqFilter, serve_filter};
use ralph_process::limit_own_memory;

/// Prints the result of a jq expression for each line of standard input
#[derive(Debug, Args)]
pub struct FilterLinesArgs {
    expression: String,
}

pub fn run(args: &FilterLinesArgs) -> Result<u8, CommandError> {
    let filter = JqFilter::compile(&args.expression)
        .map_err(|error| CommandError::from_error(exit_code::USAGE_ERROR, &error))?;
    limit_own_memory(FILTER_MEMORY_MB << 20)
        .map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    // Fails only if the parent process is gone, so an error would not have a reader.
    let _ = serve_filter(&filter, io::stdin().lock(), io::stdout().lock());
    Ok(0)
}
