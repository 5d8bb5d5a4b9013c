//! Runs git without hooks, file system monitors, replaced objects and inherited repository variables: an agent that
//! works in the repository could have set any of them.
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::temporary_folder::TemporaryFolder;
use super::{GIT_TIMEOUT, GitError, GitOutput, LONG_GIT_TIMEOUT, run_to_exit, run_to_success};

/// The variables that make git use another repository, index or object store than those of its working directory.
pub const REPOSITORY_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Options that keep git from starting programs which the repository configures. Filters still run: the seal covers
/// them.
pub(super) const SAFE_OPTIONS: &[&str] =
    &["--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

/// Every pipe has room for this much, so that it can be filled before git reads it.
const MAX_PIPE_INPUT_BYTES: usize = 4096;

/// Returns a pipe that contains `input` and then ends.
fn fill_pipe(input: &[u8]) -> io::Result<PipeReader> {
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(input)?;
    Ok(reader)
}

/// A working directory for git, with additional variables and a timeout.
pub(super) struct IsolatedGit<'a> {
    folder: &'a Path,
    env: Vec<(&'static str, OsString)>,
    timeout: Duration,
}

impl<'a> IsolatedGit<'a> {
    pub(super) fn in_folder(folder: &'a Path) -> Self {
        Self { folder, env: Vec::new(), timeout: GIT_TIMEOUT }
    }

    /// Uses the longer timeout, for commands that read or write much data.
    pub(super) fn with_long_timeout(self) -> Self {
        Self { timeout: LONG_GIT_TIMEOUT, ..self }
    }

    pub(super) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    pub(super) fn with_env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Returns the git command without its arguments.
    pub(super) fn build_command(&self) -> Command {
        let mut command = Command::new("git");
        command.current_dir(self.folder);
        for name in REPOSITORY_VARIABLES {
            command.env_remove(name);
        }
        command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_TERMINAL_PROMPT", "0");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.args(SAFE_OPTIONS);
        command
    }

    /// Runs git and returns its stdout.
    pub(super) fn read_stdout<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        run_to_success(&mut self.build_command(), &args, self.timeout)
    }

    /// Runs git with `input` on stdin and returns its output with the exit code: some commands use several exit codes.
    pub(super) fn run_with_input<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<GitOutput, GitError> {
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        if input.is_empty() {
            return run_to_exit(&mut self.build_command(), &args, Stdio::null(), self.timeout);
        }
        if input.len() <= MAX_PIPE_INPUT_BYTES
            && let Ok(pipe) = fill_pipe(input)
        {
            return run_to_exit(&mut self.build_command(), &args, pipe.into(), self.timeout);
        }
        let folder = TemporaryFolder::create("input")?;
        let path = folder.path.join("input");
        let file = fs::write(&path, input).and_then(|()| File::open(&path));
        run_to_exit(
            &mut self.build_command(),
            &args,
            file.map_err(|source| folder.to_git_error(source))?.into(),
            self.timeout,
        )
    }

    /// Runs git with `input` on stdin and returns its stdout.
    pub(super) fn read_stdout_with_input<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        self.run_with_input(args, input)?.into_stdout()
    }

    /// Runs git and returns its stdout without the final line break.
    pub(super) fn read_line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.read_stdout(args)?).trim_end().to_owned())
    }

    /// Returns the absolute path of a file in the git folder.
    pub(super) fn git_path(&self, name: &str) -> Result<PathBuf, GitError> {
        let mut path = self.read_stdout(&["rev-parse", "--path-format=absolute", "--git-path", name])?;
        path.truncate(path.strip_suffix(b"\n").map_or(path.len(), <[u8]>::len));
        Ok(OsString::from_vec(path).into())
    }
}
