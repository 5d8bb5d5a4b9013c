//! Describes a job and starts it: pipes, description, request to the keeper, first answer.
//! What happens to it later is the business of `Control` and `Ending`.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use tokio::net::UnixStream;

use super::RUN_ID_VARIABLE;
use super::control::Control;
use super::ending::{Ending, Supervisor};
use super::error::SpawnError;
use super::fds::{ChildEnd, JobFds, Pipe, null_input};
use super::handle::Handle;
use super::keeper::Keeper;
use super::message::{Launch, Report};
use super::reports::Reports;
use super::resolve::{explain, other, resolve};

/// What to run.
#[derive(Debug, Clone)]
pub struct JobSpec {
    /// A path, or a name that is looked up in the PATH of `env`. A relative path starts at `cwd`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment; only the run id is added.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    pub run_id: String,
    pub stdin: Stdin,
    /// How long descendants may live on after the program ended, to finish writing.
    pub linger: Duration,
    /// How many bytes of memory the program and its descendants may have together, if that is limited.
    pub memory: Option<u64>,
}

impl JobSpec {
    /// The usual time for what is still in flight when a program ends.
    pub const LINGER: Duration = Duration::from_millis(500);
}

/// Where a job's standard input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    Null,
    /// The caller writes through [`Job::stdin`].
    Pipe,
}

/// A running job. The pipes do not block on this side.
pub struct Job {
    pub pid: u32,
    pub stdin: Option<OwnedFd>,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub control: Control,
    pub ending: Ending,
}

/// A job with everything made but its processes.
pub(super) struct Draft {
    job: JobSpec,
    file: PathBuf,
    ends: Ends,
}

/// Our ends of a job's pipes and control socket.
struct Ends {
    /// What of the description did not fit into the socket yet.
    rest: Vec<u8>,
    socket: StdUnixStream,
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Draft {
    /// Prepares our side and returns it with what the supervisor needs.
    pub(super) fn prepare(job: JobSpec) -> Result<(Draft, JobFds), SpawnError> {
        let file = resolve(&job)?;
        let made = describe(&job, &file).and_then(|description| connect(job.stdin, description));
        match made {
            Ok((ends, theirs)) => Ok((Draft { job, file, ends }, theirs)),
            Err(source) => Err(other(&job, source)),
        }
    }

    /// Sends the rest of the description, waits for a supervisor and then for its word on the program.
    pub(super) async fn start(self, keeper: &Keeper) -> Result<Job, SpawnError> {
        let Draft { job, file, ends } = self;
        let socket = Arc::new(UnixStream::from_std(ends.socket).map_err(|source| other(&job, source))?);
        let mut reports = Reports::new(Arc::clone(&socket), keeper.clone());
        // A write that fails has its reason in the report that follows.
        let _ = send_rest(&socket, &ends.rest).await;
        let supervisor = match reports.first().await {
            Some(Report::Serving { supervisor }) => serving(&job, supervisor)?,
            Some(Report::CouldNotStart { step, errno }) => return Err(explain(&job, &file, step, errno)),
            Some(Report::Started { .. } | Report::Exited(_) | Report::Gone(_)) => {
                return Err(supervisor_died(&job));
            }
            None if keeper.has_ended().await => return Err(keeper_died()),
            None => return Err(other(&job, io::Error::from_raw_os_error(libc::EMFILE))),
        };
        let control = Control::new(socket, Arc::clone(&supervisor.handle));
        let mut ending = Ending::new(reports, supervisor, job.run_id.clone());
        match ending.first_word().await {
            Some(Report::Started { pid }) => {
                Ok(Job { pid, stdin: ends.stdin, stdout: ends.stdout, stderr: ends.stderr, control, ending })
            }
            Some(Report::CouldNotStart { step, errno }) => Err(explain(&job, &file, step, errno)),
            Some(Report::Serving { .. } | Report::Exited(_) | Report::Gone(_)) => Err(supervisor_died(&job)),
            None => Err(keeper_died()),
        }
    }
}

fn serving(job: &JobSpec, supervisor: u32) -> Result<Supervisor, SpawnError> {
    let pid = Pid::from_raw(supervisor.cast_signed()).ok_or_else(|| supervisor_died(job))?;
    Ok(Supervisor { pid, handle: Arc::new(Handle::of(pid)) })
}

fn connect(input: Stdin, mut description: Vec<u8>) -> io::Result<(Ends, JobFds)> {
    let (socket, control) = StdUnixStream::pair()?;
    socket.set_nonblocking(true)?;
    send_first(&socket, &mut description);
    let (stdin, their_stdin) = match input {
        Stdin::Null => (None, null_input()?),
        Stdin::Pipe => Pipe::new(&ChildEnd::Reads).map(|pipe| (Some(pipe.ours), pipe.theirs))?,
    };
    let (stdout, stderr) = (Pipe::new(&ChildEnd::Writes)?, Pipe::new(&ChildEnd::Writes)?);
    let theirs = JobFds { control, stdin: their_stdin, stdout: stdout.theirs, stderr: stderr.theirs };
    Ok((Ends { rest: description, socket, stdin, stdout: stdout.ours, stderr: stderr.ours }, theirs))
}

fn supervisor_died(job: &JobSpec) -> SpawnError {
    SpawnError::Supervisor { program: job.program.clone() }
}

fn keeper_died() -> SpawnError {
    SpawnError::Keeper { source: io::ErrorKind::BrokenPipe.into() }
}

/// Writes what fits into the new socket, so that the supervisor finds it there. Most jobs fit whole.
fn send_first(mut socket: &StdUnixStream, description: &mut Vec<u8>) {
    while let Ok(count @ 1..) = socket.write(description) {
        description.drain(..count);
    }
}

async fn send_rest(socket: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        socket.writable().await?;
        match socket.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn describe(job: &JobSpec, file: &Path) -> io::Result<Vec<u8>> {
    let launch = Launch {
        program: c_string(file.as_os_str())?,
        argv: argv(job)?,
        env: environment(job)?,
        cwd: c_string(std::path::absolute(&job.cwd)?.as_os_str())?,
        linger: job.linger,
        memory: job.memory,
    };
    Ok(launch.encode())
}

fn argv(job: &JobSpec) -> io::Result<Vec<CString>> {
    std::iter::once(job.program.as_os_str())
        .chain(job.args.iter().map(OsString::as_os_str))
        .map(c_string)
        .collect()
}

/// The run id comes from us alone: a job of an inner run must not carry the outer run's.
fn environment(job: &JobSpec) -> io::Result<Vec<CString>> {
    let mine = (OsStr::new(RUN_ID_VARIABLE), OsStr::new(&job.run_id));
    let given = job.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let given = given.filter(|(name, _)| *name != RUN_ID_VARIABLE);
    given.chain([mine]).map(|(name, value)| entry(name, value)).collect()
}

fn entry(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    let mut entry = name.to_os_string();
    entry.push("=");
    entry.push(value);
    c_string(&entry)
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a text holds a NUL byte"))
}
