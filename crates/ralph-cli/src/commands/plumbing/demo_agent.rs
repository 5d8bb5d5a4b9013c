//! `ralph demo-agent`: the program of `--agent demo`.
use std::io::{self, Read};
use std::time::Duration;

use clap::Args;

use crate::error::CommandError;
use ralph_app::demo::{DemoPace, play_agent};

/// Runs the scripted agent: reads a prompt, edits files, prints Claude's output format
#[derive(Debug, Args)]
pub struct DemoAgentArgs {
    /// Delay between two steps, in milliseconds
    #[arg(long, default_value_t = 0)]
    pace: u64,
}

pub fn run(args: &DemoAgentArgs) -> Result<u8, CommandError> {
    let mut prompt = String::new();
    let read = io::stdin().lock().read_to_string(&mut prompt);
    read.map_err(|error| CommandError::preflight_error("cannot read the prompt").with_cause(error))?;
    let root = std::env::current_dir()
        .map_err(|error| CommandError::preflight_error("cannot find the current directory").with_cause(error))?;
    play_agent(&root, &prompt, DemoPace(Duration::from_millis(args.pace)), io::stdout().lock());
    Ok(0)
}
