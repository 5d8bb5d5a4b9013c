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
use super::error::SpawnError;
use super::fds::{ChildPipeEnd, JobFds, PipePair, open_null_input};
use super::job_completion::{JobCompletion, SupervisorHandle};
use super::job_control::JobControl;
use super::keeper::Keeper;
use super::messages::{ProgramLaunch, SupervisorReport};
use super::process_handle::ProcessHandle;
use super::report_stream::ReportStream;
use super::resolve::{explain_launch_failure, other_spawn_error, resolve_program};

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
    pub stdin: StdinSource,
    /// How long descendants may live on after the program ended, to finish writing.
    pub linger: Duration,
    /// How many bytes of memory the program and its descendants may have together, if that is limited.
    pub memory_limit: Option<u64>,
}

impl JobSpec {
    /// The usual time for what is still in flight when a program ends.
    pub const DEFAULT_LINGER: Duration = Duration::from_millis(500);
}

/// Where a job's standard input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdinSource {
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
    pub control: JobControl,
    pub completion: JobCompletion,
}

/// A job with everything made but its processes.
pub(super) struct PreparedJob {
    spec: JobSpec,
    executable: PathBuf,
    pipe_ends: LocalPipeEnds,
}

/// Our ends of a job's pipes and control socket.
struct LocalPipeEnds {
    /// What of the description did not fit into the socket yet.
    unsent_request: Vec<u8>,
    socket: StdUnixStream,
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl PreparedJob {
    /// Prepares our side and returns it with what the supervisor needs.
    pub(super) fn prepare(job: JobSpec) -> Result<(PreparedJob, JobFds), SpawnError> {
        let file = resolve_program(&job)?;
        let made = encode_program_launch(&job, &file).and_then(|description| create_pipes(job.stdin, description));
        match made {
            Ok((ends, theirs)) => Ok((PreparedJob { spec: job, executable: file, pipe_ends: ends }, theirs)),
            Err(source) => Err(other_spawn_error(&job, source)),
        }
    }

    /// Sends the rest of the description, waits for a supervisor and then for its word on the program.
    pub(super) async fn start(self, keeper: &Keeper) -> Result<Job, SpawnError> {
        let PreparedJob { spec: job, executable: file, pipe_ends: ends } = self;
        let socket = Arc::new(UnixStream::from_std(ends.socket).map_err(|source| other_spawn_error(&job, source))?);
        let mut reports = ReportStream::new(Arc::clone(&socket), keeper.clone());
        // A write that fails has its reason in the report that follows.
        let _ = send_remaining(&socket, &ends.unsent_request).await;
        let supervisor = match reports.next_from_keeper().await {
            Some(SupervisorReport::Ready { supervisor }) => supervisor_handle(&job, supervisor)?,
            Some(SupervisorReport::LaunchFailed { step, errno }) => {
                return Err(explain_launch_failure(&job, &file, step, errno));
            }
            Some(SupervisorReport::Started { .. } | SupervisorReport::Exited(_) | SupervisorReport::TreeGone(_)) => {
                return Err(supervisor_died_error(&job));
            }
            None if keeper.has_exited().await => return Err(keeper_died_error()),
            None => return Err(other_spawn_error(&job, io::Error::from_raw_os_error(libc::EMFILE))),
        };
        let control = JobControl::new(socket, Arc::clone(&supervisor.handle));
        let mut ending = JobCompletion::new(reports, supervisor, job.run_id.clone());
        match ending.wait_for_first_report().await {
            Some(SupervisorReport::Started { pid }) => Ok(Job {
                pid,
                stdin: ends.stdin,
                stdout: ends.stdout,
                stderr: ends.stderr,
                control,
                completion: ending,
            }),
            Some(SupervisorReport::LaunchFailed { step, errno }) => {
                Err(explain_launch_failure(&job, &file, step, errno))
            }
            Some(SupervisorReport::Ready { .. } | SupervisorReport::Exited(_) | SupervisorReport::TreeGone(_)) => {
                Err(supervisor_died_error(&job))
            }
            None => Err(keeper_died_error()),
        }
    }
}

fn supervisor_handle(job: &JobSpec, supervisor: u32) -> Result<SupervisorHandle, SpawnError> {
    let pid = Pid::from_raw(supervisor.cast_signed()).ok_or_else(|| supervisor_died_error(job))?;
    Ok(SupervisorHandle { pid, handle: Arc::new(ProcessHandle::open(pid)) })
}

fn create_pipes(input: StdinSource, mut description: Vec<u8>) -> io::Result<(LocalPipeEnds, JobFds)> {
    let (socket, control) = StdUnixStream::pair()?;
    socket.set_nonblocking(true)?;
    send_without_blocking(&socket, &mut description);
    let (stdin, their_stdin) = match input {
        StdinSource::Null => (None, open_null_input()?),
        StdinSource::Pipe => {
            PipePair::new(&ChildPipeEnd::ReadEnd).map(|pipe| (Some(pipe.local_end), pipe.child_end))?
        }
    };
    let (stdout, stderr) = (PipePair::new(&ChildPipeEnd::WriteEnd)?, PipePair::new(&ChildPipeEnd::WriteEnd)?);
    let theirs = JobFds { control, stdin: their_stdin, stdout: stdout.child_end, stderr: stderr.child_end };
    Ok((
        LocalPipeEnds {
            unsent_request: description,
            socket,
            stdin,
            stdout: stdout.local_end,
            stderr: stderr.local_end,
        },
        theirs,
    ))
}

fn supervisor_died_error(job: &JobSpec) -> SpawnError {
    SpawnError::SupervisorDied { program: job.program.clone() }
}

fn keeper_died_error() -> SpawnError {
    SpawnError::KeeperDied { source: io::ErrorKind::BrokenPipe.into() }
}

/// Writes what fits into the new socket, so that the supervisor finds it there. Most jobs fit whole.
fn send_without_blocking(mut socket: &StdUnixStream, description: &mut Vec<u8>) {
    while let Ok(count @ 1..) = socket.write(description) {
        description.drain(..count);
    }
}

async fn send_remaining(socket: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
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

fn encode_program_launch(job: &JobSpec, file: &Path) -> io::Result<Vec<u8>> {
    let launch = ProgramLaunch {
        program: to_c_string(file.as_os_str())?,
        argv: build_argv(job)?,
        env: build_environment(job)?,
        cwd: to_c_string(std::path::absolute(&job.cwd)?.as_os_str())?,
        linger: job.linger,
        memory_limit: job.memory_limit,
    };
    Ok(launch.encode())
}

fn build_argv(job: &JobSpec) -> io::Result<Vec<CString>> {
    std::iter::once(job.program.as_os_str()).chain(job.args.iter().map(OsString::as_os_str)).map(to_c_string).collect()
}

/// The run id comes from us alone: a job of an inner run must not carry the outer run's.
fn build_environment(job: &JobSpec) -> io::Result<Vec<CString>> {
    let mine = (OsStr::new(RUN_ID_VARIABLE), OsStr::new(&job.run_id));
    let given = job.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let given = given.filter(|(name, _)| *name != RUN_ID_VARIABLE);
    given.chain([mine]).map(|(name, value)| environment_entry(name, value)).collect()
}

fn environment_entry(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    let mut entry = name.to_os_string();
    entry.push("=");
    entry.push(value);
    to_c_string(&entry)
}

fn to_c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a text holds a NUL byte"))
}
