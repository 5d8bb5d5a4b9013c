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

/// The name of the log of a background process.
pub(crate) const BACKGROUND_LOG_FILE: &str = "detached.log";

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
    /// Released once the run is stored: the caller waits for that. `None` if the run is resumed after it was parked.
    pub startup_pipe: Option<StartupPipe>,
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
    plan.spec.policy.rate_limits.parking.is_possible = true;
    let run_id = plan.context.id.clone();
    let log = BackgroundLog::open(&plan.context.run_folder())?;
    describe_background_start(run_id, fork_into_background(log, |output| work(run, output))?)
}

/// Describes how the start of a run in the background ended.
pub(crate) fn describe_background_start(run_id: String, started: ForkedProcess) -> AppResult<BackgroundRunStart> {
    match started {
        ForkedProcess::Started { pid, log } => Ok(BackgroundRunStart::Started { run_id, pid, log }),
        ForkedProcess::EndedEarly { code } => Ok(BackgroundRunStart::EndedEarly { code }),
        ForkedProcess::KilledEarly { signal } => {
            let message = format!("the run was killed by signal {signal} before it was stored");
            Err(AppError::from_message(ErrorKind::Internal, message).with_advice("nothing was started; try again"))
        }
    }
}

/// How a process began that was forked into the background.
pub(crate) enum ForkedProcess {
    /// It has released its parent.
    Started { pid: u32, log: PathBuf },
    /// It ended before that, after it had reported why.
    EndedEarly { code: u8 },
    /// It was killed before that.
    KilledEarly { signal: i32 },
}

/// Forks a process that writes to a log and ends with the code that `work` returns. Returns once it has released its parent
/// or has ended. Must be called while this process has only one thread.
pub(crate) fn fork_into_background(
    log: BackgroundLog,
    work: impl FnOnce(AppResult<BackgroundOutput>) -> u8,
) -> AppResult<ForkedProcess> {
    let report = log.file.try_clone().map_err(|error| AppError::internal(&error))?;
    let continue_work = |startup_pipe: io::Result<StartupPipe>| {
        let output =
            startup_pipe.map(|startup_pipe| BackgroundOutput { log: report, startup_pipe: Some(startup_pipe) });
        work(output.map_err(|error| AppError::internal(&error)))
    };
    let started = process::start_in_background(log.file, continue_work).map_err(|error| AppError::internal(&error))?;
    Ok(match started {
        process::BackgroundStart::Started { pid } => ForkedProcess::Started { pid, log: log.path },
        process::BackgroundStart::ExitedEarly { code } => {
            remove_empty_log(&log.path);
            ForkedProcess::EndedEarly { code }
        }
        process::BackgroundStart::KilledEarly { signal } => {
            remove_empty_log(&log.path);
            ForkedProcess::KilledEarly { signal }
        }
    })
}

/// The log of a background process. A resumed run appends to the same file.
pub(crate) struct BackgroundLog {
    path: PathBuf,
    file: File,
}

impl BackgroundLog {
    pub(crate) fn open(folder: &Path) -> Result<Self, EngineError> {
        let path = folder.join(BACKGROUND_LOG_FILE);
        let file = private_files::ensure_folder(folder).and_then(|_| private_files::open_for_append(&path));
        let file = file.map_err(|source| EngineError::Folder { path: folder.to_path_buf(), source })?;
        Ok(Self { path, file })
    }
}

/// Removes an empty log and its folder, because nothing was started. A log with content stays.
fn remove_empty_log(log: &Path) {
    let is_empty = std::fs::symlink_metadata(log).is_ok_and(|found| found.len() == 0);
    if is_empty && std::fs::remove_file(log).is_ok() {
        // Fails if the folder contains other files, which must stay.
        let _ = log.parent().map(std::fs::remove_dir);
    }
}
