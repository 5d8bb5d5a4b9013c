//! ralph's handle to the keeper: a small process, forked before any thread exists, that starts jobs on request.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use crate::error::{ProcessError, SpawnError};
use crate::job::start_job::{Job, JobSpec, PreparedJob};
use crate::keeper::helper_pids;
use crate::keeper::keeper_main::run_keeper;
use crate::processes::process_handle::ProcessHandle;
use crate::processes::process_tree::KILL_TIMEOUT;
use crate::unix::fds::{JobFds, send_job};
use crate::unix::fork_process::fork_process;
use crate::unix::platform;
use crate::unix::signals;

/// How often to retry sending a job while the keeper's queue is full.
const MAX_SEND_ATTEMPTS: u32 = 5_000;

/// How long the keeper may take to exit. It may have to kill processes that its supervisors could not kill.
const KEEPER_EXIT_TIMEOUT: Duration = KILL_TIMEOUT.saturating_mul(3);

/// How often SIGCONT is sent to a keeper that does not exit: the agent may have stopped it.
const CONTINUE_SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// How long a dying keeper may take from closing its sockets to its exit.
const KEEPER_EXIT_GRACE: Duration = Duration::from_millis(500);

/// Starts jobs. Cheap to clone.
///
/// A job holds a clone until it is gone. When the last clone is dropped, the keeper exits and is reaped.
#[derive(Debug, Clone)]
pub struct Keeper(Arc<KeeperProcess>);

#[derive(Debug)]
struct KeeperProcess {
    socket: UnixStream,
    pid: Pid,
    handle: ProcessHandle,
}

impl Drop for KeeperProcess {
    /// Reaps the keeper: it would remain as a zombie in a container whose first process does not reap orphans.
    fn drop(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Both);
        let deadline = Instant::now() + KEEPER_EXIT_TIMEOUT;
        self.send_continue();
        while !self.exits_within(CONTINUE_SIGNAL_INTERVAL) && Instant::now() < deadline {
            self.send_continue();
        }
        let _ = self.handle.send_signal(Signal::KILL);
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

impl KeeperProcess {
    fn send_continue(&self) {
        let _ = self.handle.send_signal(Signal::CONT);
    }

    fn exits_within(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while !self.has_exited() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.handle.wait_for_exit(left);
        }
        true
    }

    /// Does not reap the keeper, so that its pid cannot be reused while this handle exists.
    fn has_exited(&self) -> bool {
        let wait_options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid), wait_options), Ok(None) | Err(Errno::INTR))
    }
}

impl Keeper {
    /// Forks the keeper, and makes this process adopt orphans if the keeper dies.
    ///
    /// Must be called once, before any thread exists. Orphans are adopted on Linux only.
    pub fn start() -> Result<Keeper, ProcessError> {
        if !platform::is_single_threaded() {
            return Err(ProcessError::ThreadsRunning);
        }
        signals::reset_child_signal();
        platform::adopt_orphans().map_err(ProcessError::AdoptOrphans)?;
        let (ours, theirs) = UnixStream::pair().map_err(ProcessError::StartKeeper)?;
        let keeper = fork_process(|| run_keeper(&theirs)).map_err(ProcessError::StartKeeper)?;
        helper_pids::register_keeper(keeper);
        Ok(Keeper(Arc::new(KeeperProcess { socket: ours, pid: keeper, handle: ProcessHandle::open(keeper) })))
    }

    /// Starts a job and returns once its program runs or could not be started.
    ///
    /// Dropping the future kills the processes started so far. Needs a tokio runtime with I/O and time.
    pub async fn spawn(&self, job: JobSpec) -> Result<Job, SpawnError> {
        let PreparedJob { request, child_fds } = PreparedJob::prepare(job)?;
        self.send_job_fds(&child_fds).await.map_err(|source| SpawnError::KeeperDied { source })?;
        // With copies of the child's ends, ralph would never see the end of its output.
        drop(child_fds);
        request.start(self).await
    }

    pub(crate) fn pid(&self) -> Pid {
        self.0.pid
    }

    /// Sends SIGCONT to the keeper, in case the agent has stopped it.
    pub(crate) fn send_continue(&self) {
        self.0.send_continue();
    }

    /// Returns whether the keeper has exited, or does so within [`KEEPER_EXIT_GRACE`].
    pub(crate) async fn has_exited(&self) -> bool {
        let process = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || process.exits_within(KEEPER_EXIT_GRACE)).await.unwrap_or(true)
    }

    async fn send_job_fds(&self, job: &JobFds) -> io::Result<()> {
        for _ in 0..MAX_SEND_ATTEMPTS {
            match send_job(self.0.socket.as_fd(), job) {
                Ok(()) => return Ok(()),
                // The queue is full, or too many descriptors are in flight: both are transient.
                Err(Errno::AGAIN | Errno::TOOMANYREFS) => {
                    self.send_continue();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}
