//! Continues ralph in the background: in a new session, without a terminal and without inherited descriptors.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, setsid, waitpid};

use crate::error::ProcessError;
use crate::unix::fds::{close_inherited_copy, close_inherited_fds, replace_fd};
use crate::unix::fork_process::{exit_immediately, fork_process};
use crate::unix::platform;
use crate::unix::signals;

/// The exit code after a panic in the background.
const PANIC_EXIT_CODE: u8 = 70;

/// How long to wait until finished threads have exited.
const THREAD_EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of starting a background process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundStart {
    /// It has called [`StartupPipe::release_parent`].
    Started { pid: u32 },
    /// It exited before that, and printed the reason to the parent's stderr.
    ExitedEarly { code: u8 },
    /// It was killed before that.
    KilledEarly { signal: i32 },
}

/// Connects the background process with its parent, which waits until the startup is complete.
#[derive(Debug)]
pub struct StartupPipe {
    parent: PipeWriter,
    log: File,
}

/// Forks a process that runs `work` and exits with the code that it returns. Waits until `work` releases the startup
/// pipe or the process ends.
///
/// Until the release, stderr of the new process is the parent's stderr; afterwards it is the log. Must be called while
/// no other thread is running.
pub fn start_in_background(
    log: File,
    work: impl FnOnce(io::Result<StartupPipe>) -> u8,
) -> Result<BackgroundStart, ProcessError> {
    if !is_only_thread() {
        return Err(ProcessError::ThreadsRunning);
    }
    signals::reset_child_signal();
    let (startup_reader, parent) = io::pipe().map_err(ProcessError::Background)?;
    let (startup_pipe, reader_fd) = (StartupPipe { parent, log }, startup_reader.as_fd());
    // The closure takes the write end, so that this process keeps no copy of it.
    let forked = fork_process(move || {
        // With a copy of the read end, this process could not see that its parent is gone.
        close_inherited_copy(reader_fd);
        let result =
            catch_unwind(AssertUnwindSafe(|| work(detach_from_terminal(&startup_pipe).map(|()| startup_pipe))));
        exit_immediately(i32::from(result.unwrap_or(PANIC_EXIT_CODE)));
    });
    let pid = forked.map_err(ProcessError::Background)?;
    wait_for_startup(pid, startup_reader).map_err(ProcessError::Background)
}

/// Returns whether this process has only one thread. Waits for finished threads that have not exited yet.
fn is_only_thread() -> bool {
    let deadline = Instant::now() + THREAD_EXIT_TIMEOUT;
    while !platform::is_single_threaded() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Detaches the new process from the terminal and from all inherited streams except stderr.
fn detach_from_terminal(startup_pipe: &StartupPipe) -> io::Result<()> {
    setsid()?;
    signals::ignore_hangup();
    replace_fd(0, File::open("/dev/null")?.as_fd())?;
    replace_fd(1, startup_pipe.log.as_fd())?;
    close_inherited_fds()
}

impl StartupPipe {
    /// Reports to the parent that the startup is complete, and redirects stderr to the log.
    ///
    /// If the parent is gone, its user does not know of this process, so it terminates itself.
    pub fn release_parent(mut self) {
        let redirected = replace_fd(2, self.log.as_fd());
        if redirected.and_then(|()| self.parent.write_all(&[1])).is_err() {
            let _ = kill_process(getpid(), Signal::TERM);
        }
    }
}

fn wait_for_startup(pid: Pid, mut startup_reader: PipeReader) -> io::Result<BackgroundStart> {
    if startup_reader.read_exact(&mut [0]).is_ok() {
        return Ok(BackgroundStart::Started { pid: pid.as_raw_pid().cast_unsigned() });
    }
    let (_, status) = loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some(ended)) => break ended,
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    Ok(match status.terminating_signal() {
        Some(signal) => BackgroundStart::KilledEarly { signal },
        None => BackgroundStart::ExitedEarly {
            code: status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(PANIC_EXIT_CODE),
        },
    })
}
