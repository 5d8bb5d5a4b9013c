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
use super::fds::{abandon, close_inherited, replace};
use super::fork::{fork, leave};
use super::platform;
use super::signals;

/// What a panic in the background is worth as an exit code.
const BROKEN: u8 = 70;

/// How long a thread that has done its work may take to be gone.
const LAST_THREAD: Duration = Duration::from_secs(10);

/// How a process in the background began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// It is on its way.
    Announced { pid: u32 },
    /// It ended before, and said why on the standard error of its starter.
    Ended { code: u8 },
    /// Somebody killed it before.
    Killed { signal: i32 },
}

/// The last tie to the starter, who waits until it is cut.
#[derive(Debug)]
pub struct Tie {
    starter: PipeWriter,
    log: File,
}

/// Forks a process that goes on with `work`, ends with the code that it returns, and waits until its tie is cut.
///
/// Until then its errors go to the starter's standard error, afterwards to the log. Must be called while no thread is
/// at work.
pub fn background(log: File, work: impl FnOnce(io::Result<Tie>) -> u8) -> Result<Beginning, ProcessError> {
    if !is_alone() {
        return Err(ProcessError::Threads);
    }
    signals::reset_for_waiting();
    let (announced, starter) = io::pipe().map_err(ProcessError::Background)?;
    let (tie, ear) = (Tie { starter, log }, announced.as_fd());
    // The closure takes the tie with it, so that nothing of it is left here.
    let born = fork(move || {
        // Who holds the ear as well cannot see that the starter is gone.
        abandon(ear);
        let worked = catch_unwind(AssertUnwindSafe(|| work(settle(&tie).map(|()| tie))));
        leave(i32::from(worked.unwrap_or(BROKEN)));
    });
    let pid = born.map_err(ProcessError::Background)?;
    wait_for(pid, announced).map_err(ProcessError::Background)
}

/// Tells whether this process has no other thread. One that has done its work may take a moment to be gone.
fn is_alone() -> bool {
    let end = Instant::now() + LAST_THREAD;
    while !platform::is_single_threaded() {
        if Instant::now() > end {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Takes everything from a new process that would tie it to a terminal or to whoever waits for its streams.
fn settle(tie: &Tie) -> io::Result<()> {
    setsid()?;
    signals::ignore_hangup();
    replace(0, File::open("/dev/null")?.as_fd())?;
    replace(1, tie.log.as_fd())?;
    close_inherited()
}

impl Tie {
    /// Tells the starter that all is well, and lets go of its last stream.
    ///
    /// A starter who gave up meanwhile has never heard of this process, so it ends as if told to.
    pub fn cut(mut self) {
        let let_go = replace(2, self.log.as_fd());
        if let_go.and_then(|()| self.starter.write_all(&[1])).is_err() {
            let _ = kill_process(getpid(), Signal::TERM);
        }
    }
}

fn wait_for(pid: Pid, mut announced: PipeReader) -> io::Result<Beginning> {
    if announced.read_exact(&mut [0]).is_ok() {
        return Ok(Beginning::Announced { pid: pid.as_raw_pid().cast_unsigned() });
    }
    let (_, status) = loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some(ended)) => break ended,
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    Ok(match status.terminating_signal() {
        Some(signal) => Beginning::Killed { signal },
        None => Beginning::Ended {
            code: status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(BROKEN),
        },
    })
}
