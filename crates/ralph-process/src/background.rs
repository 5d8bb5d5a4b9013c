//! Lets ralph go on in the background: a session of its own, no terminal, no descriptor of whoever started it.
//! It knows nothing of what goes on there.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, setsid, waitpid};

use super::error::ProcessError;
use super::fds::{close_inherited_copy, close_inherited_fds, replace_fd};
use super::fork::{exit_immediately, fork_process};
use super::platform;
use super::signals;

/// What a panic in the background is worth as an exit code.
const PANIC_EXIT_CODE: u8 = 70;

/// How long a thread that has done its work may take to be gone.
const THREAD_EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// How a process in the background began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundStart {
    /// It is on its way.
    Started { pid: u32 },
    /// It ended before, and said why on the standard error of its starter.
    ExitedEarly { code: u8 },
    /// Somebody killed it before.
    KilledEarly { signal: i32 },
}

/// The last tie to the starter, who waits until it is cut.
#[derive(Debug)]
pub struct StartupPipe {
    parent: PipeWriter,
    log: File,
}

/// Forks a process that goes on with `work`, ends with the code that it returns, and waits until its tie is cut.
///
/// Until then its errors go to the starter's standard error, afterwards to the log. Must be called while no thread is
/// at work.
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
    // The closure takes the tie with it, so that nothing of it is left here.
    let forked = fork_process(move || {
        // Who holds the ear as well cannot see that the starter is gone.
        close_inherited_copy(reader_fd);
        let worked =
            catch_unwind(AssertUnwindSafe(|| work(detach_from_terminal(&startup_pipe).map(|()| startup_pipe))));
        exit_immediately(i32::from(worked.unwrap_or(PANIC_EXIT_CODE)));
    });
    let pid = forked.map_err(ProcessError::Background)?;
    wait_for_startup(pid, startup_reader).map_err(ProcessError::Background)
}

/// Tells whether this process has no other thread. One that has done its work may take a moment to be gone.
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

/// Takes everything from a new process that would tie it to a terminal or to whoever waits for its streams.
fn detach_from_terminal(startup_pipe: &StartupPipe) -> io::Result<()> {
    setsid()?;
    signals::ignore_hangup();
    replace_fd(0, File::open("/dev/null")?.as_fd())?;
    replace_fd(1, startup_pipe.log.as_fd())?;
    close_inherited_fds()
}

impl StartupPipe {
    /// Tells the starter that all is well, and lets go of its last stream.
    ///
    /// A starter who gave up meanwhile has never heard of this process, so it ends as if told to.
    pub fn release_parent(mut self) {
        let let_go = replace_fd(2, self.log.as_fd());
        if let_go.and_then(|()| self.parent.write_all(&[1])).is_err() {
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
