//! Resolves a job's program to a file, and explains why a program did not start.
//! Accesses the disk only for names without a slash and after a failure.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::SpawnError;
use crate::job::start_job::JobSpec;
use crate::protocol::messages::LaunchStep;

/// The kernel reads at most this much of a `#!` line.
const SHEBANG_LIMIT: u64 = 256;

/// Returns the path to execute. A name without a slash is searched in the job's PATH.
pub(crate) fn resolve_program(job: &JobSpec) -> Result<PathBuf, SpawnError> {
    if job.program.as_os_str().as_bytes().contains(&b'/') {
        return Ok(job.program.clone());
    }
    let path = job.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let files = path_candidates(job, path.unwrap_or_default());
    match files.iter().find(|file| is_executable(file)).or(files.first()) {
        // A file that is not executable is returned too, so that the failed launch reports the reason.
        Some(file) => Ok(file.clone()),
        None => Err(SpawnError::NotFound { program: job.program.clone() }),
    }
}

fn path_candidates(job: &JobSpec, path: &OsStr) -> Vec<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(&job.program)).filter(|file| file.is_file()).collect()
}

pub(crate) fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

/// Returns the error for a failed launch. `file` is the result of [`resolve_program`].
pub(crate) fn explain_launch_failure(job: &JobSpec, file: &Path, step: LaunchStep, errno: i32) -> SpawnError {
    let source = io::Error::from_raw_os_error(errno);
    match (step, errno) {
        (LaunchStep::ChangeDirectory, libc::ENOENT | libc::ENOTDIR) => {
            SpawnError::NoSuchDirectory { cwd: job.cwd.clone() }
        }
        (LaunchStep::ExecuteProgram, libc::ENOENT | libc::ENOTDIR) => explain_missing_file(job, file),
        (LaunchStep::ExecuteProgram, libc::EACCES | libc::EPERM) => {
            SpawnError::NotExecutable { program: job.program.clone(), source }
        }
        (LaunchStep::ExecuteProgram, libc::ENOEXEC) => SpawnError::WrongFormat { program: job.program.clone() },
        (LaunchStep::ExecuteProgram, libc::E2BIG) => arguments_too_long(job),
        (LaunchStep::ChangeDirectory | LaunchStep::ExecuteProgram | LaunchStep::CreateProcess, _) => {
            other_spawn_error(job, source)
        }
    }
}

pub(crate) fn other_spawn_error(job: &JobSpec, source: io::Error) -> SpawnError {
    SpawnError::Other { program: job.program.clone(), cwd: job.cwd.clone(), source }
}

/// Returns whether the program itself or its interpreter is missing: the kernel reports "no such file" for both.
fn explain_missing_file(job: &JobSpec, file: &Path) -> SpawnError {
    let program = job.program.clone();
    let file = job.cwd.join(file);
    if !file.exists() {
        return SpawnError::NotFound { program };
    }
    let interpreter = shebang_interpreter(&file).unwrap_or_else(|| PathBuf::from("its dynamic loader"));
    SpawnError::MissingInterpreter { program, interpreter }
}

/// Returns the interpreter named on the `#!` line, if there is one.
pub(crate) fn shebang_interpreter(file: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(SHEBANG_LIMIT).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    // Keep a carriage return: the kernel takes it as part of the interpreter's name in scripts with Windows line
    // endings.
    let name = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

fn arguments_too_long(job: &JobSpec) -> SpawnError {
    let args = job.args.iter().map(|arg| arg.len() + 1);
    let env = job.env.iter().map(|(name, value)| name.len() + value.len() + 2);
    let sizes: Vec<usize> = args.chain(env).collect();
    SpawnError::ArgumentsTooLong {
        program: job.program.clone(),
        bytes: sizes.iter().sum(),
        longest: sizes.into_iter().max().unwrap_or(0),
    }
}
