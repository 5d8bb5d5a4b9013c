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
use super::fork::fork;
use super::handle::Handle;
use super::job::{Draft, Job, JobSpec};
use super::keep::keep;
use super::own;
use super::platform;
use super::signals;
use super::tree::KILL_PATIENCE;

/// How often a request is offered to a keeper that has too many waiting.
const OFFERS: u32 = 5_000;

/// How long a keeper may take to end. It may have to kill what its supervisors could not.
const FAREWELL: Duration = KILL_PATIENCE.saturating_mul(3);

/// How often a keeper that takes long is reminded: the agent may have stopped it.
const REMINDER: Duration = Duration::from_millis(100);

/// How long a dying keeper may take from closing its lines to its end.
const LAST_BREATH: Duration = Duration::from_millis(500);

/// Starts jobs. Cheap to clone.
///
/// A job holds a clone until it is gone. When the last is dropped, the keeper ends and is reaped.
#[derive(Debug, Clone)]
pub struct Keeper(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    line: UnixStream,
    pid: Pid,
    handle: Handle,
}

impl Drop for Kept {
    /// Reaps the keeper: in a container whose first process reaps nobody, it would stay behind as a zombie.
    fn drop(&mut self) {
        let _ = self.line.shutdown(Shutdown::Both);
        let until = Instant::now() + FAREWELL;
        self.go_on();
        while !self.ends_within(REMINDER) && Instant::now() < until {
            self.go_on();
        }
        let _ = self.handle.signal(Signal::KILL);
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

impl Kept {
    fn go_on(&self) {
        let _ = self.handle.signal(Signal::CONT);
    }

    fn ends_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.has_ended() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.handle.rest(left);
        }
        true
    }

    /// Does not reap it: its number must stay its own for as long as others may ask.
    fn has_ended(&self) -> bool {
        let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid), looking), Ok(None) | Err(Errno::INTR))
    }
}

impl Keeper {
    /// Forks the keeper and makes this process the last resort for orphans.
    ///
    /// Must be called before any thread exists, once. Orphans are adopted on Linux only.
    pub fn start() -> Result<Keeper, ProcessError> {
        if !platform::is_single_threaded() {
            return Err(ProcessError::Threads);
        }
        signals::reset_for_waiting();
        platform::adopt_orphans().map_err(ProcessError::Orphans)?;
        let (ours, theirs) = UnixStream::pair().map_err(ProcessError::Start)?;
        let keeper = fork(|| keep(&theirs)).map_err(ProcessError::Start)?;
        own::remember_keeper(keeper);
        Ok(Keeper(Arc::new(Kept { line: ours, pid: keeper, handle: Handle::of(keeper) })))
    }

    /// Starts a job and returns once its program runs, or could not.
    ///
    /// Dropping the future half-way kills what was started. Needs a tokio runtime with I/O and time.
    pub async fn spawn(&self, job: JobSpec) -> Result<Job, SpawnError> {
        let (draft, theirs) = Draft::prepare(job)?;
        self.request(&theirs).await.map_err(|source| SpawnError::Keeper { source })?;
        // Our copies of the child's ends would hide the end of its output from us.
        drop(theirs);
        draft.start(self).await
    }

    pub(super) fn pid(&self) -> Pid {
        self.0.pid
    }

    /// Lets the keeper go on, should the agent have stopped it.
    pub(super) fn go_on(&self) {
        self.0.go_on();
    }

    /// Tells whether the keeper has ended, or is about to.
    pub(super) async fn has_ended(&self) -> bool {
        let kept = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || kept.ends_within(LAST_BREATH)).await.unwrap_or(true)
    }

    async fn request(&self, job: &JobFds) -> io::Result<()> {
        for _ in 0..OFFERS {
            match send_job(self.0.line.as_fd(), job) {
                Ok(()) => return Ok(()),
                // The queue is full, or too many descriptors are in flight: both pass as the keeper catches up.
                Err(Errno::AGAIN | Errno::TOOMANYREFS) => {
                    self.go_on();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}
