//! `--detach`: a run that goes on in the background and survives the terminal.
use std::fs::File;
use std::io;
use std::path::Path;

use clap::Args;
use ralph_core::outcome::exit_code;

use super::output_args::{OutputArgs, Show};
use super::run::execute;
use super::{exit_code_of, out};
use crate::engine::{Audience, EngineError, RunPlan, Watcher};
use crate::error::Failure;
use crate::private;
use crate::process::{self, Beginning, Tie};
use crate::report::{Announced, Detail, PlainReport};
use crate::view::short_id;

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

/// Starts a run here or in the background.
pub fn start(plan: RunPlan, output: &OutputArgs, background: &DetachArgs) -> Result<u8, Failure> {
    let show = output.show(&plan);
    if !background.detach {
        return execute(plan, show);
    }
    let receipt = match show {
        Show::Json => Receipt::Json,
        Show::People(_) | Show::Background(_) => Receipt::Line,
    };
    detach(RunPlan { audience: Audience::Nobody, ..plan }, receipt)
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

/// Starts a run in the background and returns as soon as it is stored, or could not be.
fn detach(plan: RunPlan, receipt: Receipt) -> Result<u8, Failure> {
    let id = plan.id.clone();
    let folder = plan.project.run_folder(&id);
    let path = folder.join("detached.log");
    let log =
        open_log(&folder, &path).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
    let report = log.try_clone().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    let began = process::background(log, |tie| exit_code_of(go_on(plan, tie, report)));
    let began = began.map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    match began {
        Beginning::Announced { pid } => {
            announce(&id, pid, (&path, receipt));
            Ok(0)
        }
        Beginning::Ended { code } => {
            forget(&folder, &path);
            Ok(code)
        }
        Beginning::Killed { signal } => {
            forget(&folder, &path);
            let what = format!("the run was killed by signal {signal} before it was stored");
            Err(Failure::plain(exit_code::INTERNAL, what).hint("nothing was started; try again"))
        }
    }
}

fn open_log(folder: &Path, path: &Path) -> io::Result<File> {
    private::folder(folder)?;
    private::file(path)
}

/// Nothing was stored, so nothing shall be found. What else somebody put there stays.
fn forget(folder: &Path, log: &Path) {
    let _ = std::fs::remove_file(log).and_then(|()| std::fs::remove_dir(folder));
}

/// What happens in the background.
fn go_on(plan: RunPlan, tie: io::Result<Tie>, log: File) -> Result<u8, Failure> {
    let tie = tie.map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    execute(plan, Show::Background(Background { log, tie }))
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
