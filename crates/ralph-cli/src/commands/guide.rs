//! `ralph guide`.
use std::fs::File;
use std::io;

use clap::Args;
use ralph_app::control::{GuideResult, parse_guidance, send_guidance};
use ralph_engine::project::Project;
use ralph_engine::run_driver::read_bounded_prompt;

use super::{block_on, out};
use crate::error::CommandError;

/// Sends guidance to the agent of a loop, in its next prompt
///
/// The next prompt has it in a section of its own, later prompts do not. All guidance that is sent before the next prompt is
/// part of it, and the journal keeps it. For a task without a running loop, ralph stores it until the next loop.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph guide TASK-001 'Leave the old parser alone; the bug is in the lexer'
  ralph guide 3f2a9c41 @hint.md        from a file
  git log -1 | ralph guide TASK-001 -  from standard input")]
pub struct GuideArgs {
    /// The id of a task, or the beginning or end of a run's
    #[arg(value_name = "TASK|RUN")]
    id: String,
    /// The guidance; @FILE reads it from a file, - from standard input
    words: String,
}

pub fn run(args: &GuideArgs) -> Result<u8, CommandError> {
    let guidance = parse_guidance(args.read_guidance()?)?;
    match block_on(async { Ok(send_guidance(&Project::find_here()?, &args.id, guidance).await?) })? {
        GuideResult::Delivered(position) => {
            out::print_message(&format!("Sent to the Ralph loop for {position}; it is part of the next prompt"));
        }
        GuideResult::Stored { name } => {
            out::print_message(&format!("Stored for {name}; no loop is running for it now"));
        }
    }
    Ok(0)
}

impl GuideArgs {
    fn read_guidance(&self) -> Result<Vec<u8>, CommandError> {
        let unreadable = |error: io::Error| {
            CommandError::preflight_error(format!("the guidance {} cannot be read", self.words))
                .with_cause(error)
                .with_hint("after @ comes the path of a text file; - is standard input")
        };
        match (self.words.strip_prefix('@'), self.words.as_str()) {
            (Some(path), _) => File::open(path).and_then(read_bounded_prompt).map_err(unreadable),
            (None, "-") => read_bounded_prompt(io::stdin().lock()).map_err(unreadable),
            (None, words) => Ok(words.as_bytes().to_vec()),
        }
    }
}
