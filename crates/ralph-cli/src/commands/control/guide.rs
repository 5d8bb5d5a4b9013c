//! `ralph guide`: sends guidance to the agent of a loop.
use std::fs::File;
use std::io;

use clap::Args;
use ralph_app::control::{GuideResult, parse_guidance, send_guidance};
use ralph_engine::project::Project;
use ralph_engine::run_driver::read_bounded_prompt;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Adds guidance to the next prompt of a loop
///
/// The next prompt contains it in a separate section; later prompts do not. All guidance sent before the next prompt is
/// included, and the journal records it. If no loop is running for a task, ralph stores the guidance for the next loop. If
/// the question of an agent has blocked a run, the guidance answers it, and `ralph resume` continues the run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph guide TASK-001 'Leave the old parser alone; the bug is in the lexer'
  ralph guide 3f2a9c41 @hint.md        from a file
  git log -1 | ralph guide TASK-001 -  from standard input")]
pub struct GuideArgs {
    /// Task id, or beginning or end of a run id
    #[arg(value_name = "TASK|RUN")]
    id: String,
    /// Guidance text; @FILE reads it from a file, - from standard input
    text: String,
}

pub fn run(args: &GuideArgs) -> Result<u8, CommandError> {
    let guidance = parse_guidance(args.read_guidance()?)?;
    match block_on(async { Ok(send_guidance(&Project::find_here()?, &args.id, guidance).await?) })? {
        GuideResult::Delivered(position) => {
            out::print_message(&format!("Sent to the Ralph loop for {position}; it is part of the next prompt"));
        }
        GuideResult::Answered { run } => {
            out::print_message(&format!("Stored for run {run}; `ralph resume {run}` continues it with your answer"));
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
            CommandError::preflight_error(format!("cannot read the guidance {}", self.text))
                .with_cause(error)
                .with_hint("use @FILE for a text file, or - for standard input")
        };
        match (self.text.strip_prefix('@'), self.text.as_str()) {
            (Some(path), _) => File::open(path).and_then(read_bounded_prompt).map_err(unreadable),
            (None, "-") => read_bounded_prompt(io::stdin().lock()).map_err(unreadable),
            (None, text) => Ok(text.as_bytes().to_vec()),
        }
    }
}
