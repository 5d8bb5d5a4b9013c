//! Turns a fresh child of the supervisor into the job's program, and says why when that fails.
//! It hands over descriptors 0 to 2 and nothing else; all others close on `exec`.

use std::ffi::{CString, c_char};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;

use rustix::process::{Pid, WaitOptions, chdir, getpid, setpgid, waitpid};

use super::fds;
use super::message::{Launch, Step};
use super::platform;

/// The child's ends of its pipes.
pub(super) struct Stdio {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Why a program did not start.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) step: Step,
    pub(super) errno: i32,
}

/// Starts the program and returns once it runs, or could not.
///
/// Takes `stdio` by value: a copy left open here would keep the reader of the program's output waiting.
#[expect(clippy::needless_pass_by_value, reason = "the descriptors must be closed when this returns")]
pub(super) fn launch(launch: &Launch, stdio: Stdio) -> Result<Pid, Refusal> {
    let (refusals, refuse) = io::pipe().map_err(|error| Refusal::at(Step::Fork, &error))?;
    let supervisor = getpid();
    let (argv, envp) = (pointers(&launch.argv), pointers(&launch.env));
    let child = platform::start_child(&mut || {
        let refusal = match prepare(launch, &stdio, supervisor) {
            Err(refusal) => refusal,
            Ok(()) => Refusal::at(Step::Program, &exec(&launch.program, &argv, &envp)),
        };
        refuse_to(&refuse, &refusal);
    });
    drop(refuse);
    let pid = child.map_err(|error| Refusal::at(Step::Fork, &error))?;
    let Some(refusal) = read_refusal(refusals) else { return Ok(pid) };
    // A supervisor that ends with a dead child leaves it to the keeper, who has no use for it.
    let _ = waitpid(Some(pid), WaitOptions::empty());
    Err(refusal)
}

impl Refusal {
    pub(super) fn at(step: Step, error: &io::Error) -> Refusal {
        Refusal { step, errno: error.raw_os_error().unwrap_or(libc::EIO) }
    }
}

fn refuse_to(mut supervisor: &PipeWriter, refusal: &Refusal) {
    let [a, b, c, d] = refusal.errno.to_le_bytes();
    let _ = supervisor.write_all(&[refusal.step.encode(), a, b, c, d]);
}

/// Reads the refusal of a child; a successful `exec` closes the pipe without a word.
fn read_refusal(mut refusals: PipeReader) -> Option<Refusal> {
    let mut said = [0; 5];
    refusals.read_exact(&mut said).ok()?;
    let [step, errno @ ..] = said;
    Some(Refusal { step: Step::decode(step)?, errno: i32::from_le_bytes(errno) })
}

/// Does what must be done in the child itself. It may share the memory of its parent, so nothing is allocated here.
fn prepare(launch: &Launch, stdio: &Stdio, supervisor: Pid) -> Result<(), Refusal> {
    join(stdio, supervisor).map_err(|error| Refusal::at(Step::Fork, &error))?;
    chdir(launch.cwd.as_c_str())
        .map_err(|error| Refusal { step: Step::Directory, errno: error.raw_os_error() })
}

fn join(stdio: &Stdio, supervisor: Pid) -> io::Result<()> {
    platform::die_with(supervisor)?;
    setpgid(None, None)?;
    fds::replace(0, stdio.stdin.as_fd())?;
    fds::replace(1, stdio.stdout.as_fd())?;
    fds::replace(2, stdio.stderr.as_fd())
}

/// Calls execve itself: `execvp`, which std uses, would run a file of unknown format as a shell script.
#[expect(unsafe_code, reason = "there is no safe execve")]
fn exec(program: &CString, argv: &[*const c_char], envp: &[*const c_char]) -> io::Error {
    // SAFETY: both lists end with a null pointer and point into strings that outlive the call.
    unsafe {
        libc::execve(program.as_ptr(), argv.as_ptr(), envp.as_ptr());
    }
    io::Error::last_os_error()
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}
