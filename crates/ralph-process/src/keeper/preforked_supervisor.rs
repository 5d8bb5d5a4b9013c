//! A supervisor that is forked before its job arrives, so that the job starts faster.
//! It supervises one job, or exits when its keeper does.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, kill_process};

use crate::supervisor::supervisor_main::IdleSupervisor;
use crate::unix::fds::{JobFds, close_inherited_copy, receive_job, send_job};
use crate::unix::fork_process::fork_process;

pub(crate) struct PreforkedSupervisor {
    pid: Pid,
    keeper_socket: UnixStream,
}

/// A supervisor with a job. `startup_channel` is closed once the program was started or could not be started.
pub(crate) struct AssignedSupervisor {
    pub(crate) supervisor: Pid,
    pub(crate) startup_channel: UnixStream,
}

impl PreforkedSupervisor {
    /// Forks a supervisor. `close_keeper_fds` runs in the child and closes the descriptors that only the keeper may
    /// hold.
    pub(crate) fn fork(close_keeper_fds: impl FnOnce()) -> io::Result<PreforkedSupervisor> {
        let (ours, theirs) = UnixStream::pair()?;
        let pid = fork_process(|| {
            close_keeper_fds();
            // With a copy of the keeper's end, the child could not see that the keeper died.
            close_inherited_copy(ours.as_fd());
            wait_for_job(theirs);
        })?;
        Ok(PreforkedSupervisor { pid, keeper_socket: ours })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends the job to the supervisor. Fails if it was killed in the meantime.
    pub(crate) fn assign_job(self, job: &JobFds) -> io::Result<AssignedSupervisor> {
        send_job(self.keeper_socket.as_fd(), job)?;
        // An agent may have stopped it. It is not reaped yet, so its pid cannot have been reused.
        let _ = kill_process(self.pid, Signal::CONT);
        Ok(AssignedSupervisor { supervisor: self.pid, startup_channel: self.keeper_socket })
    }
}

fn wait_for_job(keeper: UnixStream) {
    let supervisor = IdleSupervisor::detach();
    let Some(job) = receive_job(keeper.as_fd()) else { return };
    supervisor.supervise(job, keeper);
}
