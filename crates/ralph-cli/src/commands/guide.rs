//! `ralph guide`.
use std::fs::File;
use std::io;

use clap::Args;
use ralph_core::control_command::ControlCommand;
use ralph_core::task::TaskStatus;

use super::loop_target::{LoopTarget, LoopTargetKind, describe_loop, not_running_error, unresponsive_error};
use super::{block_on, out};
use crate::error::CommandError;
use ralph_engine::control::CommandDelivery;
use ralph_engine::run_driver::read_bounded_prompt;

/// Says something to the agent of a loop, in its next prompt
///
/// The words stand in the next prompt, in a section of their own, and in no later one; what is said more than once before that
/// adds up. They stay in the journal. For a task that nobody works on they wait until somebody does.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph guide TASK-001 'Leave the old parser alone; the bug is in the lexer'
  ralph guide 3f2a9c41 @hint.md        from a file
  git log -1 | ralph guide TASK-001 -  from standard input")]
pub struct GuideArgs {
    /// The id of a task, or the beginning or end of a run's
    #[arg(value_name = "TASK|RUN")]
    id: String,
    /// What to say; @FILE reads it from a file, - from standard input
    words: String,
}

/// More belongs into a file that the words name.
const MAX_GUIDANCE_BYTES: usize = 16 * 1024;

pub fn run(args: &GuideArgs) -> Result<u8, CommandError> {
    let words = args.read_guidance()?;
    block_on(async {
        let target = LoopTarget::find(&args.id).await?;
        let done = send_guidance(&target, words).await;
        target.store.close().await;
        done
    })
}

async fn send_guidance(target: &LoopTarget, words: String) -> Result<u8, CommandError> {
    refuse_ended_target(target)?;
    let alive = target.find_driven_loop().await?;
    let owner = alive.as_ref().and_then(|(_, owner)| owner.as_ref());
    let CommandDelivery::Queued { id } = target.send_command(&ControlCommand::Guide { words }, owner).await? else {
        return Err(not_running_error(target.name()).with_cause("its run has ended"));
    };
    let Some((row, owner)) = &alive else {
        out::print_message(&format!("Kept for {}; nobody works on it now", target.name()));
        return Ok(0);
    };
    if target.wait_for_answer(&id).await?.is_none() {
        return Err(
            unresponsive_error(row, owner.as_ref()).with_hint("the words stay: they are read as soon as it answers")
        );
    }
    out::print_message(&format!("Told the Ralph loop for {}; it stands in the next prompt", describe_loop(row)));
    Ok(0)
}

/// Nobody will ever read what is said to somebody who has finished.
fn refuse_ended_target(target: &LoopTarget) -> Result<(), CommandError> {
    let name = target.name();
    let refused = |what: String| {
        Err(CommandError::preflight_error(what)
            .with_hint("what should be done next belongs into a task: `ralph task followup`"))
    };
    match &target.kind {
        LoopTargetKind::Task { status: TaskStatus::Done, .. } => refused(format!("{name} is done")),
        LoopTargetKind::Task { status: TaskStatus::Cancelled, .. } => {
            Err(CommandError::preflight_error(format!("{name} is cancelled"))
                .with_hint(format!("`ralph retry {name}` makes it ready again")))
        }
        LoopTargetKind::Run(row) if !matches!(row.run.status.as_str(), "running" | "interrupted") => {
            refused(format!("the Ralph loop for {} has ended: {}", describe_loop(row), row.run.status))
        }
        LoopTargetKind::Task {
            status:
                TaskStatus::Todo
                | TaskStatus::Coding
                | TaskStatus::Reviewing
                | TaskStatus::Testing
                | TaskStatus::Qa
                | TaskStatus::Blocked,
            ..
        }
        | LoopTargetKind::Run(_) => Ok(()),
    }
}

impl GuideArgs {
    fn read_guidance(&self) -> Result<String, CommandError> {
        let unreadable = |error: io::Error| {
            CommandError::preflight_error(format!("the words {} cannot be read", self.words))
                .with_cause(error)
                .with_hint("after @ comes the path of a text file; - stands for standard input")
        };
        let bytes = match (self.words.strip_prefix('@'), self.words.as_str()) {
            (Some(path), _) => File::open(path).and_then(read_bounded_prompt).map_err(unreadable)?,
            (None, "-") => read_bounded_prompt(io::stdin().lock()).map_err(unreadable)?,
            (None, words) => words.as_bytes().to_vec(),
        };
        let words = String::from_utf8(bytes).map_err(|_| CommandError::usage_error("the words are not UTF-8 text"))?;
        match words.trim() {
            "" => Err(CommandError::usage_error("the words are empty").with_hint("say what the agent shall know")),
            long if long.len() > MAX_GUIDANCE_BYTES => {
                Err(CommandError::usage_error("the words are longer than 16 KB")
                    .with_hint("put them into a file in the project, and name that file"))
            }
            words => Ok(words.to_owned()),
        }
    }
}
