//! Whether an agent of a run has started this ralph. That is a fence and no wall: an agent can do whatever its user can, and
//! who takes the trouble to hide gets through.
use std::path::{Path, PathBuf};

use ralph_core::outcome::exit_code;

use crate::error::Failure;
use ralph_app::view::short_id;
use ralph_engine::engine::PROJECT_VARIABLE;
use ralph_engine::project::Project;
use ralph_process as process;
use ralph_process::{Ancestor, RUN_ID_VARIABLE};

/// The run whose agent has started this ralph.
#[derive(Debug, PartialEq, Eq)]
pub enum Around {
    Run(String),
    /// Its processes carry no mark any more.
    Hidden,
}

/// An agent that starts ralph on its own project would loop in a loop.
pub fn refuse_recursion(project: &Project) -> Result<(), Failure> {
    let run = match run_around(project) {
        None => return Ok(()),
        Some(Around::Run(run)) => format!("run {}", short_id(&run)),
        Some(Around::Hidden) => "a run".to_owned(),
    };
    let what = format!("{run} already works on this project, and this is one of its agents");
    Err(Failure::plain(exit_code::STATE, what)
        .hint("an agent must not start ralph on the project that it works on"))
}

/// Returns the run whose agent has started this ralph, if it works on the same project. The marks of all processes above
/// this one count, and so does a job of ralph's that has lost its mark.
pub fn run_around(project: &Project) -> Option<Around> {
    let line = process::line();
    let mut above = line.iter().skip(1);
    line.iter().find_map(|one| {
        let is_job = above.next().is_some_and(Ancestor::is_supervisor);
        match one.variable(RUN_ID_VARIABLE) {
            Some(run) => {
                let run = run.to_string_lossy().into_owned();
                is_of(project, &run, one.variable(PROJECT_VARIABLE).map(PathBuf::from).as_deref())
                    .then_some(Around::Run(run))
            }
            None => is_job.then_some(Around::Hidden),
        }
    })
}

/// A task, or a run, may have a work tree of its own: it is the same project if it has the same home.
fn is_of(project: &Project, run: &str, root: Option<&Path>) -> bool {
    let is_same = |root: &Path| {
        root == project.root || Project::around(root).is_ok_and(|other| other.home == project.home)
    };
    root.is_some_and(is_same) || is_id(run) && project.run_folder(run).is_dir()
}

/// What is no id of a run leads nowhere.
fn is_id(run: &str) -> bool {
    !run.is_empty() && run.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}
