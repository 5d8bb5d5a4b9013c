//! A supervisor that was forked before there is a job for it: what a start takes is then mostly done already.
//! It serves one job like any other, or ends with its keeper.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, kill_process};

use super::fds::{JobFds, abandon, receive_job, send_job};
use super::fork::fork;
use super::supervisor::Ready;

pub(super) struct Spare {
    pid: Pid,
    line: UnixStream,
}

/// A supervisor that has its job. Its line ends when the program runs, or could not be started.
pub(super) struct Given {
    pub(super) supervisor: Pid,
    pub(super) starting: UnixStream,
}

impl Spare {
    /// Forks one. `leave_behind` closes, in the fork, what only the keeper may hold.
    pub(super) fn fork(leave_behind: impl FnOnce()) -> io::Result<Spare> {
        let (ours, theirs) = UnixStream::pair()?;
        let pid = fork(|| {
            leave_behind();
            // Its own copy of the keeper's end would hide the keeper's death from it.
            abandon(ours.as_fd());
            stand_by(theirs);
        })?;
        Ok(Spare { pid, line: ours })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Gives it its job. Fails when it was killed meanwhile.
    pub(super) fn give(self, job: &JobFds) -> io::Result<Given> {
        send_job(self.line.as_fd(), job)?;
        // An agent may have stopped it. Not reaped yet, so the number is still its own.
        let _ = kill_process(self.pid, Signal::CONT);
        Ok(Given { supervisor: self.pid, starting: self.line })
    }
}

fn stand_by(keeper: UnixStream) {
    let ready = Ready::settle();
    let Some(job) = receive_job(keeper.as_fd()) else { return };
    ready.supervise(job, keeper);
}
