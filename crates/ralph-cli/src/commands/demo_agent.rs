//! `ralph demo-agent`: what `--agent demo` starts.
use std::io::{self, Read};
use std::time::Duration;

use clap::Args;

use crate::error::CommandError;
use ralph_app::demo::{DemoPace, play_agent};

/// Plays the scripted agent: reads a prompt, edits files, speaks Claude's format
#[derive(Debug, Args)]
pub struct DemoAgentArgs {
    /// Milliseconds between two steps
    #[arg(long, default_value_t = 0)]
    pace: u64,
}

pub fn run(args: &DemoAgentArgs) -> Result<u8, CommandError> {
    let mut prompt = String::new();
    let read = io::stdin().lock().read_to_string(&mut prompt);
    read.map_err(|error| CommandError::preflight_error("the prompt cannot be read").with_cause(error))?;
    let root = std::env::current_dir()
        .map_err(|error| CommandError::preflight_error("there is no folder").with_cause(error))?;
    play_agent(&root, &prompt, DemoPace(Duration::from_millis(args.pace)), io::stdout().lock());
    Ok(0)
}
