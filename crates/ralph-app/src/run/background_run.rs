//! Continues a run in a background process that survives the terminal and the caller.
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ralph_engine::run_driver::{EngineError, OutputVisibility, RunPlan};
use ralph_process as process;
use ralph_process::StartupPipe;
use ralph_util::private_files;

use super::{PreparedRun, ResumableRun};
use crate::error::{AppError, AppResult, ErrorKind};

/// A run that a background process can drive.
pub trait BackgroundRun {
    #[doc(hidden)]
    fn plan_for_background(&mut self) -> &mut RunPlan;
}

impl BackgroundRun for PreparedRun {
    fn plan_for_background(&mut self) -> &mut RunPlan {
        &mut self.plan
    }
}

impl BackgroundRun for ResumableRun {
    fn plan_for_background(&mut self) -> &mut RunPlan {
        self.plan_mut()
    }
}

/// Where a background run reports to, instead of a terminal.
pub struct BackgroundOutput {
    pub log: File,
    /// Released once the run is stored: the caller waits for that.
    pub startup_pipe: StartupPipe,
}

/// How the start in the background ended.
#[derive(Debug, PartialEq, Eq)]
pub enum BackgroundRunStart {
    /// The run is stored, and a process with this id drives it.
    Started { run_id: String, pid: u32, log: PathBuf },
    /// The process ended before the run was stored, after it had reported why.
    EndedEarly { code: u8 },
}

/// Forks a process that continues the run with `work` and ends with the code that `work` returns. Returns as soon as the
/// run is stored, or has failed before that. Must be called while this process has only one thread.
pub fn start_in_background<R: BackgroundRun>(
    mut run: R,
    work: impl FnOnce(R, AppResult<BackgroundOutput>) -> u8,
) -> AppResult<BackgroundRunStart> {
    let plan = run.plan_for_background();
    plan.context.visibility = OutputVisibility::Hidden;
    let run_id = plan.context.id.clone();
    let log = BackgroundLog::open(&plan.context.run_folder())?;
    let report = log.file.try_clone().map_err(|error| AppError::internal(&error))?;
    let continue_run = |startup_pipe: io::Result<StartupPipe>| {
        let output = startup_pipe.map(|startup_pipe| BackgroundOutput { log: report, startup_pipe });
        work(run, output.map_err(|error| AppError::internal(&error)))
    };
    let started = process::start_in_background(log.file, continue_run).map_err(|error| AppError::internal(&error))?;
    match started {
        process::BackgroundStart::Started { pid } => Ok(BackgroundRunStart::Started { run_id, pid, log: log.path }),
        process::BackgroundStart::ExitedEarly { code } => {
            remove_empty_log(&log.path);
            Ok(BackgroundRunStart::EndedEarly { code })
        }
        process::BackgroundStart::KilledEarly { signal } => {
            remove_empty_log(&log.path);
            let message = format!("the run was killed by signal {signal} before it was stored");
            Err(AppError::from_message(ErrorKind::Internal, message).with_advice("nothing was started; try again"))
        }
    }
}

/// The log of a background run. A resumed run appends to the same file.
struct BackgroundLog {
    path: PathBuf,
    file: File,
}

impl BackgroundLog {
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
