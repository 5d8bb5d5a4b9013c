//! `ralph guide`.
use std::fs::File;
use std::io;

use clap::Args;
use ralph_core::order::Order;
use ralph_core::task::Status;

use super::target::{Target, What, nobody, place, silent};
use super::{block_on, out};
use crate::error::Failure;
use ralph_engine::control::Given;
use ralph_engine::engine::read_bounded;

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
const LONGEST: usize = 16 * 1024;

pub fn run(args: &GuideArgs) -> Result<u8, Failure> {
    let words = args.words()?;
    block_on(async {
        let target = Target::find(&args.id).await?;
        let done = guide(&target, words).await;
        target.store.close().await;
        done
    })
}

async fn guide(target: &Target, words: String) -> Result<u8, Failure> {
    refuse_ended(target)?;
    let alive = target.alive().await?;
    let owner = alive.as_ref().and_then(|(_, owner)| owner.as_ref());
    let Given::Waits { id } = target.order(&Order::Guide { words }, owner).await? else {
        return Err(nobody(target.name()).cause("its run has ended"));
    };
    let Some((row, owner)) = &alive else {
        out::say(&format!("Kept for {}; nobody works on it now", target.name()));
        return Ok(0);
    };
    if target.answer(&id).await?.is_none() {
        return Err(silent(row, owner.as_ref()).hint("the words stay: they are read as soon as it answers"));
    }
    out::say(&format!("Told the Ralph loop for {}; it stands in the next prompt", place(row)));
    Ok(0)
}

/// Nobody will ever read what is said to somebody who has finished.
fn refuse_ended(target: &Target) -> Result<(), Failure> {
    let name = target.name();
    let refused = |what: String| {
        Err(Failure::preflight(what)
            .hint("what should be done next belongs into a task: `ralph task followup`"))
    };
    match &target.what {
        What::Task { status: Status::Done, .. } => refused(format!("{name} is done")),
        What::Task { status: Status::Cancelled, .. } => {
            Err(Failure::preflight(format!("{name} is cancelled"))
                .hint(format!("`ralph retry {name}` makes it ready again")))
        }
        What::Run(row) if !matches!(row.run.status.as_str(), "running" | "interrupted") => {
            refused(format!("the Ralph loop for {} has ended: {}", place(row), row.run.status))
        }
        What::Task {
            status:
                Status::Todo | Status::Coding | Status::Reviewing | Status::Testing | Status::Qa | Status::Blocked,
            ..
        }
        | What::Run(_) => Ok(()),
    }
}

impl GuideArgs {
    fn words(&self) -> Result<String, Failure> {
        let unreadable = |error: io::Error| {
            Failure::preflight(format!("the words {} cannot be read", self.words))
                .cause(error)
                .hint("after @ comes the path of a text file; - stands for standard input")
        };
        let bytes = match (self.words.strip_prefix('@'), self.words.as_str()) {
            (Some(path), _) => File::open(path).and_then(read_bounded).map_err(unreadable)?,
            (None, "-") => read_bounded(io::stdin().lock()).map_err(unreadable)?,
            (None, words) => words.as_bytes().to_vec(),
        };
        let words = String::from_utf8(bytes).map_err(|_| Failure::usage("the words are not UTF-8 text"))?;
        match words.trim() {
            "" => Err(Failure::usage("the words are empty").hint("say what the agent shall know")),
            long if long.len() > LONGEST => Err(Failure::usage("the words are longer than 16 KB")
                .hint("put them into a file in the project, and name that file")),
            words => Ok(words.to_owned()),
        }
    }
}
