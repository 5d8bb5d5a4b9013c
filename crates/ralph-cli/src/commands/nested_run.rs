//! Whether an agent of a run has started this ralph. That is a fence and no wall: an agent can do whatever its user can, and
//! who takes the trouble to hide gets through.
use std::path::{Path, PathBuf};

use ralph_core::outcome::exit_code;

use crate::error::CommandError;
use ralph_app::view::short_id;
use ralph_engine::project::Project;
use ralph_engine::run_driver::PROJECT_ENV_VAR;
use ralph_process as process;
use ralph_process::{AncestorProcess, RUN_ID_VARIABLE};

/// The run whose agent has started this ralph.
#[derive(Debug, PartialEq, Eq)]
pub enum EnclosingRun {
    Run(String),
    /// Its processes carry no mark any more.
    Unmarked,
}

/// An agent that starts ralph on its own project would loop in a loop.
pub fn refuse_recursion(project: &Project) -> Result<(), CommandError> {
    let run = match find_enclosing_run(project) {
        None => return Ok(()),
        Some(EnclosingRun::Run(run)) => format!("run {}", short_id(&run)),
        Some(EnclosingRun::Unmarked) => "a run".to_owned(),
    };
    let what = format!("{run} already works on this project, and this is one of its agents");
    Err(CommandError::from_message(exit_code::STATE_UNUSABLE, what)
        .with_hint("an agent must not start ralph on the project that it works on"))
}

/// Returns the run whose agent has started this ralph, if it works on the same project. The marks of all processes above
/// this one count, and so does a job of ralph's that has lost its mark.
pub fn find_enclosing_run(project: &Project) -> Option<EnclosingRun> {
    let ancestors = process::ancestor_processes();
    let mut parents = ancestors.iter().skip(1);
    ancestors.iter().find_map(|one| {
        let is_job = parents.next().is_some_and(AncestorProcess::is_supervisor);
        match one.environment_variable(RUN_ID_VARIABLE) {
            Some(run) => {
                let run = run.to_string_lossy().into_owned();
                belongs_to_project(
                    project,
                    &run,
                    one.environment_variable(PROJECT_ENV_VAR).map(PathBuf::from).as_deref(),
                )
                .then_some(EnclosingRun::Run(run))
            }
            None => is_job.then_some(EnclosingRun::Unmarked),
        }
    })
}

/// A task, or a run, may have a work tree of its own: it is the same project if it has the same home.
fn belongs_to_project(project: &Project, run: &str, root: Option<&Path>) -> bool {
    let is_same =
        |root: &Path| root == project.root || Project::find_from(root).is_ok_and(|other| other.home == project.home);
    root.is_some_and(is_same) || is_run_id(run) && project.run_folder(run).is_dir()
}

/// What is no id of a run leads nowhere.
fn is_run_id(run: &str) -> bool {
    !run.is_empty() && run.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}
