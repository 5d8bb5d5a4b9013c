//! A supervisor that waits for its next job, so that the job starts faster: one that is forked before the job arrives, or
//! one whose last job has ended. It supervises one job at a time, and exits when its keeper does.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, kill_process};

use crate::supervisor::supervisor_main::IdleSupervisor;
use crate::unix::fds::{JobFds, close_inherited_copy, receive_job, send_job};
use crate::unix::fork_process::fork_process;

/// A notice from a supervisor with a job to its keeper, as one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SupervisorNotice {
    /// The program of its first job was started, or could not be started.
    Started,
    /// Its job and all processes of the job are gone: it can take the next one.
    Free,
}

pub(crate) struct SpareSupervisor {
    pid: Pid,
    keeper_socket: UnixStream,
}

/// A supervisor with a job.
pub(crate) struct BusySupervisor {
    pid: Pid,
    keeper_socket: UnixStream,
}

impl SupervisorNotice {
    pub(crate) fn encode(self) -> u8 {
        match self {
            SupervisorNotice::Started => b's',
            SupervisorNotice::Free => b'f',
        }
    }

    fn decode(byte: u8) -> Option<SupervisorNotice> {
        [SupervisorNotice::Started, SupervisorNotice::Free].into_iter().find(|notice| notice.encode() == byte)
    }
}

impl SpareSupervisor {
    /// Forks a supervisor. `close_keeper_fds` runs in the child and closes the descriptors that only the keeper may
    /// hold.
    pub(crate) fn fork(close_keeper_fds: impl FnOnce()) -> io::Result<SpareSupervisor> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let pid = fork_process(|| {
            close_keeper_fds();
            // With a copy of the keeper's end, the child could not see that the keeper died.
            close_inherited_copy(ours.as_fd());
            serve_jobs(&theirs);
        })?;
        Ok(SpareSupervisor { pid, keeper_socket: ours })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends the job to the supervisor. Fails if it was killed in the meantime.
    pub(crate) fn assign_job(self, job: &JobFds) -> io::Result<BusySupervisor> {
        send_job(self.keeper_socket.as_fd(), job)?;
        // An agent may have stopped it. It is not reaped yet, so its pid cannot have been reused.
        let _ = kill_process(self.pid, Signal::CONT);
        Ok(BusySupervisor { pid: self.pid, keeper_socket: self.keeper_socket })
    }
}

impl AsFd for SpareSupervisor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.keeper_socket.as_fd()
    }
}

impl BusySupervisor {
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Reads the notices that have arrived, without blocking. `None`: the supervisor exits, and sends nothing more.
    pub(crate) fn read_notices(&mut self) -> Option<Vec<SupervisorNotice>> {
        let mut buffer = [0; 8];
        match self.keeper_socket.read(&mut buffer) {
            Ok(0) => None,
            Ok(count) => Some(buffer.iter().take(count).filter_map(|byte| SupervisorNotice::decode(*byte)).collect()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Some(Vec::new())
            }
            Err(_) => None,
        }
    }

    pub(crate) fn into_spare(self) -> SpareSupervisor {
        SpareSupervisor { pid: self.pid, keeper_socket: self.keeper_socket }
    }
}

impl AsFd for BusySupervisor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.keeper_socket.as_fd()
    }
}

/// Supervises one job after the other. A supervisor whose job has left processes that it cannot kill takes no other.
fn serve_jobs(keeper: &UnixStream) {
    let mut waiting = Some(IdleSupervisor::detach());
    while let Some(supervisor) = waiting.take() {
        let Some(job) = receive_job(keeper.as_fd()) else { return };
        waiting = supervisor.supervise(job, keeper);
        if waiting.is_some() {
            notify_keeper(keeper, SupervisorNotice::Free);
        }
    }
}

/// Fails if the keeper is gone; the supervisor notices that when it waits for its next job.
pub(crate) fn notify_keeper(keeper: &UnixStream, notice: SupervisorNotice) {
    let _ = rustix::io::write(keeper, &[notice.encode()]);
}
