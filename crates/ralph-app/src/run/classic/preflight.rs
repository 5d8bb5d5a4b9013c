//! Checks the folders, the plan and the prompt before a classic run starts.
use std::io;
use std::path::Path;

use ralph_core::claim::Promise;
use ralph_core::event::PlanAvailability;
use ralph_core::outcome::NO_PLAN_MESSAGE;
use ralph_core::prompt::{asks_for_promise, promise_tag};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{RunPlan, read_text_file};
use ralph_util::private_files;

use super::ClassicMode;
use crate::advice::Advice;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;

/// Creates the folder for session logs. Errors are ignored here, because the session log reports them when it opens.
pub(super) fn prepare_folders(project: &Project, specs: &str, person: &dyn Interaction) {
    let logs = project.session_logs_folder();
    let _ = private_files::ensure_folder(&logs).and_then(|folder| folder.write_gitignore());
    if !project.root.join(specs).is_dir() {
        person.show_note(&format!("warning   the folder {specs} (SPECS_DIR) does not exist"));
    }
}

pub(super) fn require_implementation_plan(plan: &RunPlan) -> AppResult<()> {
    match plan.spec.check_plan_file() {
        PlanAvailability::Available => Ok(()),
        PlanAvailability::Missing => Err(AppError::from_message(ErrorKind::PlanMissing, NO_PLAN_MESSAGE)),
    }
}

/// Adds advice if the root has prompts but ralph reads its files from another folder.
pub(super) fn add_home_advice(project: &Project, failure: AppError) -> AppError {
    let Project { root, home, .. } = project;
    if home == root || !root.join("prompts").is_dir() {
        return failure;
    }
    let (root, home) = (root.display(), home.display());
    failure.with_advice(format!(
        "ralph reads its files from {home}; it uses {root} only if that has `config` and `prompts`, and no `.ralph`"
    ))
}

/// Checks that the prompt asks for the promise. Without it, the loop can only end at its limit.
pub(super) fn check_prompt(
    mode: ClassicMode,
    path: &Path,
    promise: &Promise,
    person: &dyn Interaction,
) -> AppResult<()> {
    let text = read_text_file(path).map_err(|error| prompt_read_error(mode, path, &error))?;
    let (tag, shown) = (promise_tag(promise, None), path.display());
    match (asks_for_promise(&text, &tag), mode) {
        (true, _) => Ok(()),
        (false, ClassicMode::Prompt) => Err(AppError::preflight(format!("the prompt {shown} does not ask for {tag}"))
            .with_advice("it ends the loop: tell the agent to print it on a separate line when everything is done")),
        (false, ClassicMode::Plan | ClassicMode::Build) => {
            person.show_note(&format!("warning   {shown} does not ask for {tag}: the loop runs to its limit"));
            Ok(())
        }
    }
}

fn prompt_read_error(mode: ClassicMode, path: &Path, error: &io::Error) -> AppError {
    let shown = path.display();
    match (error.kind(), mode) {
        (io::ErrorKind::NotFound, ClassicMode::Plan | ClassicMode::Build) => {
            AppError::preflight(format!("the prompt {shown} does not exist")).with_advice(Advice::InitializeProject)
        }
        (_, _) => AppError::preflight(format!("the prompt {shown} cannot be read"))
            .with_cause(error)
            .with_advice("a prompt is a text file that ralph reads again before every iteration"),
    }
}
