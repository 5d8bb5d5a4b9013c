//! `--detach`: starts a run in the background, where it survives the terminal.
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::outcome::exit_code;

use super::output_args::{OutputArgs, OutputMode};
use super::run::execute_run;
use super::{out, report_result};
use crate::error::CommandError;
use crate::report::{NotifyOnFirstFact, PlainReport, ReportDetail};
use ralph_app::view::short_id;
use ralph_engine::run_driver::{EngineError, OutputVisibility, RunContext, RunObserver, RunPlan};
use ralph_process as process;
use ralph_process::{BackgroundStart, StartupPipe};
use ralph_util::private_files;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct DetachArgs {
    /// Runs in the background, independent of the terminal; prints the run id and returns
    #[arg(long)]
    detach: bool,
}

/// How the start of the run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartAnnouncement {
    Line,
    Json,
}

impl DetachArgs {
    pub fn is_requested(&self) -> bool {
        self.detach
    }
}

/// Starts a run here or in the background.
pub fn start_run(plan: RunPlan, output: &OutputArgs, background: &DetachArgs) -> Result<u8, CommandError> {
    if background.is_requested() {
        return run_detached(plan, output, execute_run);
    }
    let show = output.output_mode(&plan);
    execute_run(plan, show)
}

/// Where a background run reports to, instead of a terminal.
pub struct BackgroundOutput {
    log: File,
    startup_pipe: StartupPipe,
}

impl BackgroundOutput {
    /// Returns a reporter that writes milestones to the log, and releases the parent process once the run is stored.
    pub fn into_reporter(self, max_iterations: u32) -> impl RunObserver {
        let Self { log, startup_pipe } = self;
        NotifyOnFirstFact::new(PlainReport::new(log, ReportDetail::Milestones, max_iterations), || {
            startup_pipe.release_parent();
        })
    }
}

/// Continues a run in the background. Returns as soon as the run is stored, or has failed before that.
pub fn run_detached(
    plan: RunPlan,
    output: &OutputArgs,
    continue_run: impl FnOnce(RunPlan, OutputMode) -> Result<u8, CommandError>,
) -> Result<u8, CommandError> {
    let announcement = match output.audience() {
        OutputVisibility::Hidden => StartAnnouncement::Json,
        OutputVisibility::Shown => StartAnnouncement::Line,
    };
    let context = RunContext { visibility: OutputVisibility::Hidden, ..plan.context };
    let plan = RunPlan { context, ..plan };
    let id = plan.context.id.clone();
    let log = DetachedLog::open(&plan.context.project.run_folder(&id))?;
    let report = log.file.try_clone().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    let work = |startup_pipe: io::Result<StartupPipe>| {
        let startup_pipe = startup_pipe.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
        continue_run(plan, OutputMode::Background(BackgroundOutput { log: report, startup_pipe }))
    };
    let started = process::start_in_background(log.file, |startup_pipe| report_result(work(startup_pipe)));
    let started = started.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    match started {
        BackgroundStart::Started { pid } => {
            announce_start(&id, pid, &log.path, announcement);
            Ok(0)
        }
        BackgroundStart::ExitedEarly { code } => {
            remove_empty_log(&log.path);
            Ok(code)
        }
        BackgroundStart::KilledEarly { signal } => {
            remove_empty_log(&log.path);
            let message = format!("the run was killed by signal {signal} before it was stored");
            Err(CommandError::from_message(exit_code::INTERNAL_ERROR, message)
                .with_hint("nothing was started; try again"))
        }
    }
}

/// The log of a background run. A resumed run appends to the same file.
struct DetachedLog {
    path: PathBuf,
    file: File,
}

impl DetachedLog {
    fn open(folder: &Path) -> Result<Self, EngineError> {
        let path = folder.join("detached.log");
        let file = private_files::ensure_folder(folder).and_then(|_| private_files::open_for_append(&path));
        let file = file.map_err(|source| EngineError::Folder { path: folder.to_path_buf(), source })?;
        Ok(Self { path, file })
    }
}

/// Removes an empty log and its folder, because no run was stored. A log with content stays.
fn remove_empty_log(log: &Path) {
    let is_empty = std::fs::symlink_metadata(log).is_ok_and(|found| found.len() == 0);
    if is_empty && std::fs::remove_file(log).is_ok() {
        // Fails if the folder contains other files, which must stay.
        let _ = log.parent().map(std::fs::remove_dir);
    }
}

fn announce_start(id: &str, pid: u32, log: &Path, announcement: StartAnnouncement) {
    let short = short_id(id);
    out::print_line(&match announcement {
        StartAnnouncement::Json => serde_json::json!({ "run": id, "pid": pid, "log": log }).to_string(),
        StartAnnouncement::Line => {
            format!("run {short} continues in the background: `ralph attach {short}` follows it, `kill {pid}` stops it")
        }
    });
}
