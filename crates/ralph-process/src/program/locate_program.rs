//! Checks whether a program can be started, without starting it.
use std::io;
use std::path::{Path, PathBuf};

use crate::error::SpawnError;
use crate::job::start_job::{JobSpec, StdinSource};
use crate::program::executable_format::can_machine_run;
use crate::program::resolve_program::{is_executable, resolve_program, shebang_interpreter};

/// Returns the file that a job would execute, or the reason why it cannot be executed.
pub fn locate_program(job: &JobSpec) -> Result<PathBuf, SpawnError> {
    let file = job.cwd.join(resolve_program(job)?);
    let program = || job.program.clone();
    if !file.exists() {
        return Err(SpawnError::NotFound { program: program() });
    }
    if !file.is_file() || !is_executable(&file) {
        let source = io::Error::from_raw_os_error(libc::EACCES);
        return Err(SpawnError::NotExecutable { program: file, source });
    }
    match shebang_interpreter(&file) {
        Some(interpreter) if !job.cwd.join(&interpreter).exists() => {
            Err(SpawnError::MissingInterpreter { program: program(), interpreter })
        }
        None if !can_machine_run(&file) => Err(SpawnError::WrongFormat { program: file }),
        Some(_) | None => Ok(file),
    }
}

/// Returns whether a program can be started in a folder with ralph's environment.
pub fn can_start_program(folder: &Path, program: &str) -> bool {
    find_program(folder, program).is_ok()
}

/// Returns the file that would be executed for `program` in a folder with ralph's environment, or the reason why none
/// can.
pub fn find_program(folder: &Path, program: &str) -> Result<PathBuf, SpawnError> {
    let job = JobSpec {
        program: program.into(),
        args: Vec::new(),
        env: std::env::vars_os().collect(),
        cwd: folder.to_path_buf(),
        run_id: String::new(),
        stdin: StdinSource::Null,
        linger: JobSpec::DEFAULT_LINGER,
        memory_limit: None,
    };
    locate_program(&job)
}
