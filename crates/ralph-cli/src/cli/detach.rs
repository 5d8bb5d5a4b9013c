//! `--detach`: a run that goes on in the background and survives the terminal.
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::outcome::exit_code;

use super::output_args::{OutputArgs, Show};
use super::run::execute;
use super::{exit_code_of, out};
use crate::error::Failure;
use crate::report::{Announced, Detail, PlainReport};
use ralph_app::view::short_id;
use ralph_engine::engine::{Audience, EngineError, RunPlan, Watcher};
use ralph_process as process;
use ralph_process::{Beginning, Tie};
use ralph_util::private;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct DetachArgs {
    /// Goes on in the background and survives the terminal; prints the run's id and returns
    #[arg(long)]
    detach: bool,
}

/// How the starter is told of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receipt {
    Line,
    Json,
}

impl DetachArgs {
    pub fn is_wanted(&self) -> bool {
        self.detach
    }
}

/// Starts a run here or in the background.
pub fn start(plan: RunPlan, output: &OutputArgs, background: &DetachArgs) -> Result<u8, Failure> {
    if background.is_wanted() {
        return detach(plan, output, execute);
    }
    let show = output.show(&plan);
    execute(plan, show)
}

/// What a run in the background has instead of a terminal.
pub struct Background {
    log: File,
    tie: Tie,
}

impl Background {
    /// Returns the report: milestones into the log. The starter is let go once the run is stored.
    pub fn report(self, max_iterations: u32) -> impl Watcher {
        let Self { log, tie } = self;
        Announced::new(PlainReport::new(log, Detail::Milestones, max_iterations), || tie.cut())
    }
}

/// Goes on with a run in the background and returns as soon as that is stored, or could not be.
pub fn detach(
    plan: RunPlan,
    output: &OutputArgs,
    go_on: impl FnOnce(RunPlan, Show) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let receipt = match output.audience() {
        Audience::Nobody => Receipt::Json,
        Audience::People => Receipt::Line,
    };
    let plan = RunPlan { audience: Audience::Nobody, ..plan };
    let id = plan.id.clone();
    let log = Log::open(&plan.project.run_folder(&id))?;
    let report = log.file.try_clone().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    let work = |tie: io::Result<Tie>| {
        let tie = tie.map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
        go_on(plan, Show::Background(Background { log: report, tie }))
    };
    let began = process::background(log.file, |tie| exit_code_of(work(tie)));
    let began = began.map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    match began {
        Beginning::Announced { pid } => {
            announce(&id, pid, (&log.path, receipt));
            Ok(0)
        }
        Beginning::Ended { code } => {
            forget(&log.path);
            Ok(code)
        }
        Beginning::Killed { signal } => {
            forget(&log.path);
            let what = format!("the run was killed by signal {signal} before it was stored");
            Err(Failure::plain(exit_code::INTERNAL, what).hint("nothing was started; try again"))
        }
    }
}

/// The log of a run in the background. One that is taken up again goes on in the same file.
struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    fn open(folder: &Path) -> Result<Self, EngineError> {
        let path = folder.join("detached.log");
        let file = private::folder(folder).and_then(|_| private::file(&path));
        let file = file.map_err(|source| EngineError::Folder { path: folder.to_path_buf(), source })?;
        Ok(Self { path, file })
    }
}

/// Nothing was stored, so nothing shall be found. What else lies there stays, and so does a log that says something.
fn forget(log: &Path) {
    let is_empty = std::fs::symlink_metadata(log).is_ok_and(|found| found.len() == 0);
    if is_empty && std::fs::remove_file(log).is_ok() {
        // Fails where there are other logs.
        let _ = log.parent().map(std::fs::remove_dir);
    }
}

fn announce(id: &str, pid: u32, (log, receipt): (&Path, Receipt)) {
    let short = short_id(id);
    out::line(&match receipt {
        Receipt::Json => serde_json::json!({ "run": id, "pid": pid, "log": log }).to_string(),
        Receipt::Line => {
            format!(
                "run {short} goes on in the background: `ralph attach {short}` follows it, `kill {pid}` stops it"
            )
        }
    });
}
