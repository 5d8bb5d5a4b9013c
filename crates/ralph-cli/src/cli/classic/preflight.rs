//! What must be in place before a classic run starts, looked at in the order in which it is told.
use std::io;
use std::path::Path;

use ralph_core::claim::Promise;
use ralph_core::event::Ground;
use ralph_core::outcome::{NO_PLAN, exit_code};
use ralph_core::prompt::{asks_for, tag};

use super::Mode;
use crate::cli::out;
use crate::error::Failure;
use ralph_engine::engine::{RunPlan, read_text};
use ralph_engine::project::Project;
use ralph_util::private;

/// Makes the folder for the session logs. One that cannot be made costs the log, which says so itself.
pub(super) fn folders(project: &Project, specs: &str) {
    let logs = project.session_logs();
    let _ = private::folder(&logs).and_then(|folder| folder.keep_out_of_git());
    if !project.root.join(specs).is_dir() {
        out::note(&format!("warning   the folder {specs} (SPECS_DIR) does not exist"));
    }
}

pub(super) fn implementation_plan(plan: &RunPlan) -> Result<(), Failure> {
    match plan.ground() {
        Ground::Firm => Ok(()),
        Ground::NoPlan => Err(Failure::plain(exit_code::NO_PLAN, NO_PLAN)),
    }
}

/// Tells who has the files of classic mode at the root why they were not looked at there.
pub(super) fn other_home(project: &Project, failure: Failure) -> Failure {
    let Project { root, home } = project;
    if home == root || !root.join("prompts").is_dir() {
        return failure;
    }
    let (root, home) = (root.display(), home.display());
    failure.hint(format!(
        "the files of ralph are looked for in {home}; {root} is that place only if it holds `config` beside `prompts` \
         and has no `.ralph`"
    ))
}

/// Without the promise in its prompt a loop can only run to its limit.
pub(super) fn prompt(mode: Mode, path: &Path, promise: &Promise) -> Result<(), Failure> {
    let text = read_text(path).map_err(|error| unreadable(mode, path, &error))?;
    let tag = tag(promise, None);
    match (asks_for(&text, &tag), mode) {
        (true, _) => Ok(()),
        (false, Mode::Prompt) => Err(Failure::preflight(format!(
            "the prompt {} does not ask for {tag}",
            path.display()
        ))
        .hint(
            "the loop ends by it: tell the agent to print it on a line of its own when everything is done",
        )),
        (false, Mode::Plan | Mode::Build) => {
            let path = path.display();
            out::note(&format!("warning   {path} does not ask for {tag}: the loop runs to its limit"));
            Ok(())
        }
    }
}

fn unreadable(mode: Mode, path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    match (error.kind(), mode) {
        (io::ErrorKind::NotFound, Mode::Plan | Mode::Build) => {
            Failure::preflight(format!("the prompt {shown} does not exist")).hint("make it with `ralph init`")
        }
        (_, _) => Failure::preflight(format!("the prompt {shown} cannot be read"))
            .cause(error)
            .hint("a prompt is a text file, which is read again for every iteration"),
    }
}
