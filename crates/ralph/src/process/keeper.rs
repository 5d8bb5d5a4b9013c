//! The keeper: a small process, forked before ralph has threads, that forks a supervisor for each job.
//! It runs nothing itself and knows nothing of the jobs it passed on.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, chdir, getpid, setsid, wait, waitpid};

use super::error::{ProcessError, SpawnError};
use super::fds::{JobFds, abandon, close_all_but, receive_job, send_job};
use super::fork::fork;
use super::job::{Draft, Job, JobSpec};
use super::message::{Report, Step};
use super::own;
use super::platform::{self, Handle};
use super::signals;
use super::supervisor::supervise;

/// How often a request is offered to a keeper that has too many waiting.
const OFFERS: u32 = 5_000;

/// How long the last handle waits for a keeper without jobs to end.
const FAREWELL: Duration = Duration::from_secs(1);

/// Starts jobs. Cheap to clone.
///
/// When the last clone is dropped, the keeper ends as soon as its jobs have ended, and is reaped if that is soon.
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
        while matches!(waitpid(Some(self.pid), WaitOptions::NOHANG), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
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
        draft.start(&self.0.handle).await
    }

    async fn request(&self, job: &JobFds) -> io::Result<()> {
        for _ in 0..OFFERS {
            match send_job(self.0.line.as_fd(), job) {
                Ok(()) => return Ok(()),
                // The queue is full, or too many descriptors are in flight: both pass as the keeper catches up.
                Err(Errno::AGAIN | Errno::TOOMANYREFS) => tokio::time::sleep(Duration::from_millis(1)).await,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

/// The life of the keeper process.
fn keep(line: &UnixStream) {
    signals::reset_all();
    signals::withstand();
    signals::reap_automatically();
    platform::name_this_process("rk-keeper");
    let _ = setsid();
    // Not to hold a folder or mount that ralph was started in.
    let _ = chdir("/");
    if close_all_but(line.as_fd()).is_err() {
        return;
    }
    while let Some(job) = receive_job(line.as_fd()) {
        hand_over(line, job);
    }
    // The usual end has no supervisor left, and ralph waits for it: nothing may be looked for then.
    if !matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD)) {
        wake_supervisors();
    }
    // Outlives the supervisors, so that they are reaped even where nobody else would do it.
    while !matches!(wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
}

/// A supervisor that its agent has stopped would not notice that ralph is gone.
fn wake_supervisors() {
    let me = Some(getpid());
    for seen in platform::processes().iter().filter(|seen| seen.parent == me) {
        let _ = platform::signal(seen, Signal::CONT);
    }
}

fn hand_over(line: &UnixStream, job: JobFds) {
    let mut job = Some(job);
    let forked = fork(|| {
        // A supervisor that held the line would hide the keeper's death from ralph.
        abandon(line.as_fd());
        job.take().into_iter().for_each(supervise);
    });
    if let (Err(error), Some(job)) = (forked, job) {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        let _ = (&job.control).write_all(&Report::CouldNotStart { step: Step::Fork, errno }.encode());
    }
}
