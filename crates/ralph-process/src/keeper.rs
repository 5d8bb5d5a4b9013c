//! The keeper as ralph knows it: a small process, forked before there are threads, that is asked to start jobs.
//! What it does with them is its own business, and that of their supervisors.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use super::error::{ProcessError, SpawnError};
use super::fds::{JobFds, send_job};
use super::fork::fork_process;
use super::helper_pids;
use super::job::{Job, JobSpec, PreparedJob};
use super::keeper_main::run_keeper;
use super::platform;
use super::process_handle::ProcessHandle;
use super::process_tree::KILL_TIMEOUT;
use super::signals;

/// How often a request is offered to a keeper that has too many waiting.
const MAX_SEND_ATTEMPTS: u32 = 5_000;

/// How long a keeper may take to end. It may have to kill what its supervisors could not.
const KEEPER_EXIT_TIMEOUT: Duration = KILL_TIMEOUT.saturating_mul(3);

/// How often a keeper that takes long is reminded: the agent may have stopped it.
const CONTINUE_SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// How long a dying keeper may take from closing its lines to its end.
const KEEPER_EXIT_GRACE: Duration = Duration::from_millis(500);

/// Starts jobs. Cheap to clone.
///
/// A job holds a clone until it is gone. When the last is dropped, the keeper ends and is reaped.
#[derive(Debug, Clone)]
pub struct Keeper(Arc<KeeperProcess>);

#[derive(Debug)]
struct KeeperProcess {
    socket: UnixStream,
    pid: Pid,
    handle: ProcessHandle,
}

impl Drop for KeeperProcess {
    /// Reaps the keeper: in a container whose first process reaps nobody, it would stay behind as a zombie.
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

    /// Does not reap it: its number must stay its own for as long as others may ask.
    fn has_exited(&self) -> bool {
        let wait_options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid), wait_options), Ok(None) | Err(Errno::INTR))
    }
}

impl Keeper {
    /// Forks the keeper and makes this process the last resort for orphans.
    ///
    /// Must be called before any thread exists, once. Orphans are adopted on Linux only.
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

    /// Starts a job and returns once its program runs, or could not.
    ///
    /// Dropping the future half-way kills what was started. Needs a tokio runtime with I/O and time.
    pub async fn spawn(&self, job: JobSpec) -> Result<Job, SpawnError> {
        let (prepared, theirs) = PreparedJob::prepare(job)?;
        self.send_job_fds(&theirs).await.map_err(|source| SpawnError::KeeperDied { source })?;
        // Our copies of the child's ends would hide the end of its output from us.
        drop(theirs);
        prepared.start(self).await
    }

    pub(super) fn pid(&self) -> Pid {
        self.0.pid
    }

    /// Lets the keeper go on, should the agent have stopped it.
    pub(super) fn send_continue(&self) {
        self.0.send_continue();
    }

    /// Tells whether the keeper has ended, or is about to.
    pub(super) async fn has_exited(&self) -> bool {
        let process = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || process.exits_within(KEEPER_EXIT_GRACE)).await.unwrap_or(true)
    }

    async fn send_job_fds(&self, job: &JobFds) -> io::Result<()> {
        for _ in 0..MAX_SEND_ATTEMPTS {
            match send_job(self.0.socket.as_fd(), job) {
                Ok(()) => return Ok(()),
                // The queue is full, or too many descriptors are in flight: both pass as the keeper catches up.
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
