//! Errors of starting the keeper or a program.

use std::io;
use std::path::PathBuf;

/// One of ralph's helper processes could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("processes must be forked before any thread exists")]
    ThreadsRunning,
    #[error("cannot adopt orphaned processes")]
    AdoptOrphans(#[source] io::Error),
    #[error("cannot start the keeper process")]
    StartKeeper(#[source] io::Error),
    #[error("cannot continue in the background")]
    Background(#[source] io::Error),
}

/// A program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("{} was not found", program.display())]
    NotFound { program: PathBuf },
    #[error("{} cannot be executed", program.display())]
    NotExecutable { program: PathBuf, source: io::Error },
    #[error("{} needs {}, which was not found", program.display(), interpreter.display())]
    MissingInterpreter { program: PathBuf, interpreter: PathBuf },
    #[error("{} is not a program that this machine can run", program.display())]
    WrongFormat { program: PathBuf },
    #[error("the working directory {} does not exist", cwd.display())]
    NoSuchDirectory { cwd: PathBuf },
    #[error(
        "the arguments and environment of {} are too long ({bytes} bytes, the longest value is {longest} bytes)",
        program.display()
    )]
    ArgumentsTooLong { program: PathBuf, bytes: usize, longest: usize },
    #[error("ralph's keeper process (rk-keeper) was killed, so ralph cannot start any program: start the run again")]
    KeeperDied { source: io::Error },
    #[error("the supervisor of {} was killed before the program started", program.display())]
    SupervisorDied { program: PathBuf },
    #[error("cannot start {} in {}", program.display(), cwd.display())]
    Other { program: PathBuf, cwd: PathBuf, source: io::Error },
}
