//! Checks the folders, the plan and the prompt before a classic run starts.
use std::io;
use std::path::Path;

use ralph_core::claim::Promise;
use ralph_core::event::PlanAvailability;
use ralph_core::outcome::{NO_PLAN_MESSAGE, exit_code};
use ralph_core::prompt::{asks_for_promise, promise_tag};

use super::ClassicMode;
use crate::commands::out;
use crate::error::CommandError;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{RunPlan, read_text_file};
use ralph_util::private_files;

/// Creates the folder for session logs. Errors are ignored here, because the session log reports them when it opens.
pub(super) fn prepare_folders(project: &Project, specs: &str) {
    let logs = project.session_logs_folder();
    let _ = private_files::ensure_folder(&logs).and_then(|folder| folder.write_gitignore());
    if !project.root.join(specs).is_dir() {
        out::print_note(&format!("warning   the folder {specs} (SPECS_DIR) does not exist"));
    }
}

pub(super) fn require_implementation_plan(plan: &RunPlan) -> Result<(), CommandError> {
    match plan.spec.check_plan_file() {
        PlanAvailability::Available => Ok(()),
        PlanAvailability::Missing => Err(CommandError::from_message(exit_code::NO_PLAN, NO_PLAN_MESSAGE)),
    }
}

/// Adds a hint if the root has prompts but ralph reads its files from another folder.
pub(super) fn add_home_hint(project: &Project, failure: CommandError) -> CommandError {
    let Project { root, home } = project;
    if home == root || !root.join("prompts").is_dir() {
        return failure;
    }
    let (root, home) = (root.display(), home.display());
    failure.with_hint(format!(
        "ralph reads its files from {home}; it uses {root} only if that has `config` and `prompts`, and no `.ralph`"
    ))
}

/// Checks that the prompt asks for the promise. Without it, the loop can only end at its limit.
pub(super) fn check_prompt(mode: ClassicMode, path: &Path, promise: &Promise) -> Result<(), CommandError> {
    let text = read_text_file(path).map_err(|error| prompt_read_error(mode, path, &error))?;
    let tag = promise_tag(promise, None);
    match (asks_for_promise(&text, &tag), mode) {
        (true, _) => Ok(()),
        (false, ClassicMode::Prompt) => {
            Err(CommandError::preflight_error(format!("the prompt {} does not ask for {tag}", path.display()))
                .with_hint("it ends the loop: tell the agent to print it on a separate line when everything is done"))
        }
        (false, ClassicMode::Plan | ClassicMode::Build) => {
            let path = path.display();
            out::print_note(&format!("warning   {path} does not ask for {tag}: the loop runs to its limit"));
            Ok(())
        }
    }
}

fn prompt_read_error(mode: ClassicMode, path: &Path, error: &io::Error) -> CommandError {
    let shown = path.display();
    match (error.kind(), mode) {
        (io::ErrorKind::NotFound, ClassicMode::Plan | ClassicMode::Build) => {
            CommandError::preflight_error(format!("the prompt {shown} does not exist"))
                .with_hint("create it with `ralph init`")
        }
        (_, _) => CommandError::preflight_error(format!("the prompt {shown} cannot be read"))
            .with_cause(error)
            .with_hint("a prompt is a text file that ralph reads again before every iteration"),
    }
}
