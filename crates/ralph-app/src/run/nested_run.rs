//! Detects that an agent of a run started this ralph. It prevents accidents; an agent that hides its ancestry on purpose gets through.
use std::path::{Path, PathBuf};

use crate::error::{AppError, AppResult, ErrorKind};
use crate::view::short_id;
use ralph_engine::project::Project;
use ralph_engine::run_driver::PROJECT_ENV_VAR;
use ralph_process as process;
use ralph_process::{AncestorProcess, RUN_ID_VARIABLE};

/// The run whose agent has started this ralph.
#[derive(Debug, PartialEq, Eq)]
pub enum EnclosingRun {
    Run(String),
    /// Its processes no longer carry the run id.
    Unmarked,
}

/// Refuses to start if an agent started this ralph on the project that it works on.
pub fn refuse_recursion(project: &Project) -> AppResult<()> {
    let run = match find_enclosing_run(project) {
        None => return Ok(()),
        Some(EnclosingRun::Run(run)) => format!("run {}", short_id(&run)),
        Some(EnclosingRun::Unmarked) => "a run".to_owned(),
    };
    let message = format!("{run} already works on this project, and this is one of its agents");
    Err(AppError::from_message(ErrorKind::StateUnusable, message)
        .with_advice("an agent must not start ralph on the project that it works on"))
}

/// Returns the run whose agent started this ralph on the same project. Reads the run id of every ancestor process; a job
/// that ralph started counts too if it no longer has its run id.
pub fn find_enclosing_run(project: &Project) -> Option<EnclosingRun> {
    find_run_among(project, &process::ancestor_processes())
}

/// Like [`find_enclosing_run`], for a process with its ancestors.
pub(super) fn find_run_among(project: &Project, lineage: &[AncestorProcess]) -> Option<EnclosingRun> {
    let mut parents = lineage.iter().skip(1);
    lineage.iter().find_map(|ancestor| {
        let is_job = parents.next().is_some_and(AncestorProcess::is_supervisor);
        match ancestor.environment_variable(RUN_ID_VARIABLE) {
            Some(run) => {
                let run = run.to_string_lossy().into_owned();
                belongs_to_project(
                    project,
                    &run,
                    ancestor.environment_variable(PROJECT_ENV_VAR).map(PathBuf::from).as_deref(),
                )
                .then_some(EnclosingRun::Run(run))
            }
            None => is_job.then_some(EnclosingRun::Unmarked),
        }
    })
}

/// The work tree of a task or run belongs to the project that has the same home.
fn belongs_to_project(project: &Project, run: &str, root: Option<&Path>) -> bool {
    let is_same =
        |root: &Path| root == project.root || Project::find_from(root).is_ok_and(|other| other.home == project.home);
    root.is_some_and(is_same) || is_run_id(run) && project.run_folder(run).is_dir()
}

fn is_run_id(run: &str) -> bool {
    !run.is_empty() && run.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}
