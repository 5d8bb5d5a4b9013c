//! Finds out before anything is started whether a program can be started at all.
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::SpawnError;
use super::job::{JobSpec, Stdin};
use super::resolve::{interpreter, is_executable, resolve};

/// How much of a file tells text from binary.
const HEAD: u64 = 256;

/// Returns the file that a job would execute, or why it cannot be executed.
pub fn locate(job: &JobSpec) -> Result<PathBuf, SpawnError> {
    let file = job.cwd.join(resolve(job)?);
    let program = || job.program.clone();
    if !file.exists() {
        return Err(SpawnError::NotFound { program: program() });
    }
    if !file.is_file() || !is_executable(&file) {
        let source = io::Error::from_raw_os_error(libc::EACCES);
        return Err(SpawnError::NotExecutable { program: program(), source });
    }
    match interpreter(&file) {
        Some(interpreter) if !job.cwd.join(&interpreter).exists() => {
            Err(SpawnError::MissingInterpreter { program: program(), interpreter })
        }
        None if is_text(&file) => Err(SpawnError::WrongFormat { program: program() }),
        Some(_) | None => Ok(file),
    }
}

/// Tells whether a program could be started from a folder, in our own environment.
pub fn is_program(folder: &Path, program: &str) -> bool {
    let job = JobSpec {
        program: program.into(),
        args: Vec::new(),
        env: std::env::vars_os().collect(),
        cwd: folder.to_path_buf(),
        run_id: String::new(),
        stdin: Stdin::Null,
        linger: JobSpec::LINGER,
        memory: None,
    };
    locate(&job).is_ok()
}

/// A text without `#!` is no program for the kernel, whatever a shell would make of it.
fn is_text(file: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(file).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && std::str::from_utf8(&head).is_ok() && !head.contains(&0)
}
