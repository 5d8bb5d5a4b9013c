//! Starts the job's program as a child of the supervisor, and reports why that failed.
//! The program gets descriptors 0 to 2 only; all others close on `exec`.

use std::ffi::{CString, c_char};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;

use rustix::process::{Pid, WaitOptions, chdir, getpid, setpgid, waitpid};

use crate::protocol::messages::{LaunchStep, ProgramLaunch};
use crate::unix::fds;
use crate::unix::platform;

/// The child's ends of its pipes.
pub(crate) struct ChildStdio {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Why a program did not start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LaunchFailure {
    pub(crate) step: LaunchStep,
    pub(crate) errno: i32,
}

/// Starts the program and returns once it runs or could not be started.
///
/// Takes `stdio` by value: with a copy open in this process, ralph would never see the end of the output.
#[expect(clippy::needless_pass_by_value, reason = "the descriptors must be closed when this returns")]
pub(crate) fn launch_program(launch: &ProgramLaunch, stdio: ChildStdio) -> Result<Pid, LaunchFailure> {
    let (failure_reader, failure_writer) =
        io::pipe().map_err(|error| LaunchFailure::from_io_error(LaunchStep::CreateProcess, &error))?;
    let supervisor = getpid();
    let (argv, envp) = (c_string_pointers(&launch.argv), c_string_pointers(&launch.env));
    let child = platform::spawn_sharing_memory(&mut || {
        let failure = match set_up_child(launch, &stdio, supervisor) {
            Err(failure) => failure,
            Ok(()) => {
                LaunchFailure::from_io_error(LaunchStep::ExecuteProgram, &exec_program(&launch.program, &argv, &envp))
            }
        };
        write_failure(&failure_writer, &failure);
    });
    drop(failure_writer);
    let pid = child.map_err(|error| LaunchFailure::from_io_error(LaunchStep::CreateProcess, &error))?;
    let Some(failure) = read_failure(failure_reader) else { return Ok(pid) };
    // Reap the child here, so that the keeper does not inherit it.
    let _ = waitpid(Some(pid), WaitOptions::empty());
    Err(failure)
}

impl LaunchFailure {
    pub(crate) fn from_io_error(step: LaunchStep, error: &io::Error) -> LaunchFailure {
        LaunchFailure { step, errno: error.raw_os_error().unwrap_or(libc::EIO) }
    }
}

fn write_failure(mut supervisor: &PipeWriter, failure: &LaunchFailure) {
    let [a, b, c, d] = failure.errno.to_le_bytes();
    let _ = supervisor.write_all(&[failure.step.encode(), a, b, c, d]);
}

/// Reads the failure of a child. Returns `None` if `exec` succeeded, which closes the pipe.
fn read_failure(mut pipe: PipeReader) -> Option<LaunchFailure> {
    let mut frame = [0; 5];
    pipe.read_exact(&mut frame).ok()?;
    let [step, errno @ ..] = frame;
    Some(LaunchFailure { step: LaunchStep::decode(step)?, errno: i32::from_le_bytes(errno) })
}

/// Sets up the child before `exec`. The child may share the memory of its parent, so nothing is allocated here.
fn set_up_child(launch: &ProgramLaunch, stdio: &ChildStdio, supervisor: Pid) -> Result<(), LaunchFailure> {
    attach_to_supervisor(stdio, supervisor)
        .map_err(|error| LaunchFailure::from_io_error(LaunchStep::CreateProcess, &error))?;
    chdir(launch.cwd.as_c_str())
        .map_err(|error| LaunchFailure { step: LaunchStep::ChangeDirectory, errno: error.raw_os_error() })
}

fn attach_to_supervisor(stdio: &ChildStdio, supervisor: Pid) -> io::Result<()> {
    platform::die_with_parent(supervisor)?;
    setpgid(None, None)?;
    fds::replace_fd(0, stdio.stdin.as_fd())?;
    fds::replace_fd(1, stdio.stdout.as_fd())?;
    fds::replace_fd(2, stdio.stderr.as_fd())
}

/// Hand-written because std uses `execvp`, which would run a file of unknown format as a shell script.
#[expect(unsafe_code, reason = "no safe wrapper of execve exists")]
fn exec_program(program: &CString, argv: &[*const c_char], envp: &[*const c_char]) -> io::Error {
    // SAFETY: both lists end with a null pointer and point into strings that outlive the call.
    unsafe {
        libc::execve(program.as_ptr(), argv.as_ptr(), envp.as_ptr());
    }
    io::Error::last_os_error()
}

fn c_string_pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}
