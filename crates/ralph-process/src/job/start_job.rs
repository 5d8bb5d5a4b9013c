//! Describes a job and starts it: creates the pipes, sends the launch request, and waits for the first reports.
//! `JobControl` and `JobCompletion` take over from there.

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

use crate::RUN_ID_VARIABLE;
use crate::error::SpawnError;
use crate::job::job_completion::{JobCompletion, SupervisorHandle};
use crate::job::job_control::JobControl;
use crate::job::report_stream::ReportStream;
use crate::keeper::keeper_handle::Keeper;
use crate::processes::process_handle::ProcessHandle;
use crate::program::resolve_program::{explain_launch_failure, other_spawn_error, resolve_program};
use crate::protocol::messages::{ProgramLaunch, SupervisorReport};
use crate::unix::fds::{ChildPipeEnd, JobFds, PipePair, open_null_input};

/// The program to run and its surroundings.
#[derive(Debug, Clone)]
pub struct JobSpec {
    /// A path, or a name that is searched in the PATH of `env`. A relative path is relative to `cwd`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment; only the run id is added.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    pub run_id: String,
    pub stdin: StdinSource,
    /// How long descendants may run after the program exited, to finish writing.
    pub linger: Duration,
    /// The memory limit in bytes for the program and its descendants together.
    pub memory_limit: Option<u64>,
}

impl JobSpec {
    /// The default for [`JobSpec::linger`].
    pub const DEFAULT_LINGER: Duration = Duration::from_millis(500);
}

/// The source of a job's stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdinSource {
    Null,
    /// The caller writes through [`Job::stdin`].
    Pipe,
}

/// A running job. ralph's ends of the pipes are non-blocking.
pub struct Job {
    pub pid: u32,
    pub stdin: Option<OwnedFd>,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub control: JobControl,
    pub completion: JobCompletion,
}

/// A job whose pipes exist but whose processes do not.
pub(crate) struct PreparedJob {
    pub(crate) request: LaunchRequest,
    /// The descriptors for the supervisor.
    pub(crate) child_fds: JobFds,
}

/// ralph's side of a job that is about to start.
pub(crate) struct LaunchRequest {
    spec: JobSpec,
    executable: PathBuf,
    pipe_ends: LocalPipeEnds,
}

/// ralph's ends of a job's pipes and control socket.
struct LocalPipeEnds {
    /// The part of the launch request that did not fit into the socket buffer.
    unsent_request: Vec<u8>,
    socket: StdUnixStream,
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl PreparedJob {
    /// Resolves the program and creates the pipes.
    pub(crate) fn prepare(job: JobSpec) -> Result<PreparedJob, SpawnError> {
        let executable = resolve_program(&job)?;
        let pipes = encode_program_launch(&job, &executable).and_then(|request| create_pipes(job.stdin, request));
        match pipes {
            Ok((pipe_ends, child_fds)) => {
                Ok(PreparedJob { request: LaunchRequest { spec: job, executable, pipe_ends }, child_fds })
            }
            Err(source) => Err(other_spawn_error(&job, source)),
        }
    }
}

impl LaunchRequest {
    /// Sends the rest of the request, then waits for the supervisor and for its report on the program.
    pub(crate) async fn start(self, keeper: &Keeper) -> Result<Job, SpawnError> {
        let LaunchRequest { spec: job, executable: file, pipe_ends: ends } = self;
        let socket = Arc::new(UnixStream::from_std(ends.socket).map_err(|source| other_spawn_error(&job, source))?);
        let mut reports = ReportStream::new(Arc::clone(&socket), keeper.clone());
        // If the write fails, the report that follows has the reason.
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
        let mut completion = JobCompletion::new(reports, supervisor, job.run_id.clone());
        match completion.wait_for_first_report().await {
            Some(SupervisorReport::Started { pid }) => {
                Ok(Job { pid, stdin: ends.stdin, stdout: ends.stdout, stderr: ends.stderr, control, completion })
            }
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

fn create_pipes(input: StdinSource, mut request: Vec<u8>) -> io::Result<(LocalPipeEnds, JobFds)> {
    let (socket, control) = StdUnixStream::pair()?;
    socket.set_nonblocking(true)?;
    send_without_blocking(&socket, &mut request);
    let (stdin, child_stdin) = match input {
        StdinSource::Null => (None, open_null_input()?),
        StdinSource::Pipe => {
            PipePair::new(&ChildPipeEnd::ReadEnd).map(|pipe| (Some(pipe.local_end), pipe.child_end))?
        }
    };
    let (stdout, stderr) = (PipePair::new(&ChildPipeEnd::WriteEnd)?, PipePair::new(&ChildPipeEnd::WriteEnd)?);
    let child_fds = JobFds { control, stdin: child_stdin, stdout: stdout.child_end, stderr: stderr.child_end };
    Ok((
        LocalPipeEnds { unsent_request: request, socket, stdin, stdout: stdout.local_end, stderr: stderr.local_end },
        child_fds,
    ))
}

fn supervisor_died_error(job: &JobSpec) -> SpawnError {
    SpawnError::SupervisorDied { program: job.program.clone() }
}

fn keeper_died_error() -> SpawnError {
    SpawnError::KeeperDied { source: io::ErrorKind::BrokenPipe.into() }
}

/// Writes as much of the request as fits into the socket buffer and removes it from `request`. Most requests fit
/// completely.
fn send_without_blocking(mut socket: &StdUnixStream, request: &mut Vec<u8>) {
    while let Ok(count @ 1..) = socket.write(request) {
        request.drain(..count);
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

/// Adds the run id and replaces one in `env`: a job of a nested run must not carry the id of the outer run.
fn build_environment(job: &JobSpec) -> io::Result<Vec<CString>> {
    let run_id = (OsStr::new(RUN_ID_VARIABLE), OsStr::new(&job.run_id));
    let env = job.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let env = env.filter(|(name, _)| *name != RUN_ID_VARIABLE);
    env.chain([run_id]).map(|(name, value)| environment_entry(name, value)).collect()
}

fn environment_entry(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    let mut entry = name.to_os_string();
    entry.push("=");
    entry.push(value);
    to_c_string(&entry)
}

fn to_c_string(text: &OsStr) -> io::Result<CString> {
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidInput, "an argument, variable or path contains a NUL byte");
    CString::new(text.as_bytes()).map_err(invalid)
}
