//! A supervisor that was forked before there is a job for it: what a start takes is then mostly done already.
//! It serves one job like any other, or ends with its keeper.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, kill_process};

use super::fds::{JobFds, close_inherited_copy, receive_job, send_job};
use super::fork::fork_process;
use super::supervisor::IdleSupervisor;

pub(super) struct PreforkedSupervisor {
    pid: Pid,
    keeper_socket: UnixStream,
}

/// A supervisor that has its job. Its line ends when the program runs, or could not be started.
pub(super) struct AssignedSupervisor {
    pub(super) supervisor: Pid,
    pub(super) startup_channel: UnixStream,
}

impl PreforkedSupervisor {
    /// Forks one. `leave_behind` closes, in the fork, what only the keeper may hold.
    pub(super) fn fork(close_keeper_fds: impl FnOnce()) -> io::Result<PreforkedSupervisor> {
        let (ours, theirs) = UnixStream::pair()?;
        let pid = fork_process(|| {
            close_keeper_fds();
            // Its own copy of the keeper's end would hide the keeper's death from it.
            close_inherited_copy(ours.as_fd());
            wait_for_job(theirs);
        })?;
        Ok(PreforkedSupervisor { pid, keeper_socket: ours })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Gives it its job. Fails when it was killed meanwhile.
    pub(super) fn assign_job(self, job: &JobFds) -> io::Result<AssignedSupervisor> {
        send_job(self.keeper_socket.as_fd(), job)?;
        // An agent may have stopped it. Not reaped yet, so the number is still its own.
        let _ = kill_process(self.pid, Signal::CONT);
        Ok(AssignedSupervisor { supervisor: self.pid, startup_channel: self.keeper_socket })
    }
}

fn wait_for_job(keeper: UnixStream) {
    let ready = IdleSupervisor::detach();
    let Some(job) = receive_job(keeper.as_fd()) else { return };
    ready.supervise(job, keeper);
}
