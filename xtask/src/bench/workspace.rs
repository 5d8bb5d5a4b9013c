//! A temporary folder for the contestants, with programs and prompt. It is removed at the end.
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::options::{BenchOptions, BenchSize};
use crate::command_line::CommandLine;
use crate::error::{Result, XtaskError};

/// A promise that the agent never makes, for loops that run until their limit.
pub(super) const UNSAID_PROMISE: &str = "NEVER_SAID";

const BENCH_PROMPT: &str = "Do the next story of the plan. When all stories pass, say <promise>DONE</promise>.\n";

const MEMORY_FOLDER: &str = "/dev/shm";

/// The exit code of a loop that has reached its maximum number of iterations.
pub(super) const EXHAUSTED_EXIT_CODE: i32 = 3;

pub(super) struct BenchWorkspace {
    pub(super) rounds: usize,
    pub(super) size: BenchSize,
    pub(super) ralph: PathBuf,
    pub(super) agent: PathBuf,
    pub(super) prompt: PathBuf,
    folder: PathBuf,
}

impl BenchWorkspace {
    pub(super) fn new(options: &BenchOptions) -> Result<Self> {
        let release = target_folder()?.join("release");
        Self {
            rounds: options.rounds,
            size: options.size,
            ralph: release.join("ralph"),
            agent: release.join("fake-agent"),
            prompt: PathBuf::new(),
            folder: PathBuf::new(),
        }
        .set_up(&std::env::temp_dir())
    }

    /// Returns a workspace in memory if it has room for `megabytes`, otherwise on disk. With long files on disk, the
    /// benchmark would measure the disk.
    pub(super) fn in_memory(&self, megabytes: usize) -> Result<Self> {
        let place = if free_megabytes(MEMORY_FOLDER) >= megabytes {
            PathBuf::from(MEMORY_FOLDER)
        } else {
            std::env::temp_dir()
        };
        let Self { rounds, size, ralph, agent, .. } = self;
        let (ralph, agent) = (ralph.clone(), agent.clone());
        let empty = PathBuf::new();
        Self { rounds: *rounds, size: *size, ralph, agent, prompt: empty.clone(), folder: empty }.set_up(&place)
    }

    fn set_up(mut self, parent: &Path) -> Result<Self> {
        static WORKSPACE_COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = WORKSPACE_COUNT.fetch_add(1, Ordering::Relaxed);
        self.folder = parent.join(format!("ralph-bench-{}-{number}", std::process::id()));
        self.prompt = self.folder.join("prompt.md");
        let prepared = fs::create_dir_all(&self.folder).and_then(|()| fs::write(&self.prompt, BENCH_PROMPT));
        prepared.map_err(|error| XtaskError::with_cause(self.folder.display(), error))?;
        Ok(self)
    }

    /// Returns a note about the location of the files.
    pub(super) fn location_note(&self) -> String {
        format!("the files are in {}", self.folder.parent().unwrap_or(&self.folder).display())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Creates an empty git repository and replaces an existing one of this name.
    pub(super) fn create_project(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        remove_project(&folder)?;
        CommandLine::parse("git init --quiet").args([folder.display().to_string()]).run_quietly()?;
        Ok(folder)
    }

    /// Returns a `ralph run` command with this program as the agent; its JSON output is discarded.
    pub(super) fn ralph_run_command(&self, project: &Path, agent: &Path) -> Command {
        let mut command = Command::new(&self.ralph);
        command.arg("run").arg(format!("@{}", self.prompt.display())).args(["--json", "--agent", "text"]);
        command.arg("--agent-cmd").arg(agent).current_dir(project).env("XDG_STATE_HOME", state_folder(project));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Returns a command for a shell script; `args` are `$1`, `$2` …
    pub(super) fn shell_command(&self, text: &str, args: &[&Path]) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text, "sh"]).args(args).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Returns a command for the agent alone, with the prompt on stdin and its output in a file.
    pub(super) fn agent_command(&self) -> Result<Command> {
        let opened = File::open(&self.prompt).and_then(|prompt| Ok((prompt, File::create(self.path("alone.log"))?)));
        let (prompt, log) = opened.map_err(|error| XtaskError::with_cause(self.folder.display(), error))?;
        let mut command = Command::new(&self.agent);
        command.arg("work").stdin(prompt).stdout(log).stderr(Stdio::null());
        Ok(command)
    }
}

impl Drop for BenchWorkspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the free space of a folder; 0 if it is unknown.
fn free_megabytes(folder: &str) -> usize {
    let listed = Command::new("df").args(["-Pm", folder]).stderr(Stdio::null()).output();
    let text = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    parse_available(&text).unwrap_or(0)
}

/// Reads the fourth column of the second line, as POSIX specifies.
fn parse_available(listed: &str) -> Option<usize> {
    listed.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

/// Returns the target folder of cargo, derived from the path of this executable.
fn target_folder() -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(|error| XtaskError::with_cause("cannot find this executable", error))?;
    let folder = own.ancestors().nth(2).map(Path::to_path_buf);
    folder.ok_or_else(|| XtaskError::new(format!("{} is not in a target folder", own.display())))
}

/// The state of ralph is beside the project, so that it is on the same file system and is removed with it.
pub(super) fn state_folder(project: &Path) -> PathBuf {
    project.with_extension("state")
}

/// Removes a project and the state of ralph for it, if they exist.
pub(super) fn remove_project(project: &Path) -> Result<()> {
    remove_folder(&state_folder(project))?;
    remove_folder(project)
}

/// Removes a folder, if it exists.
pub(super) fn remove_folder(folder: &Path) -> Result<()> {
    ignore_missing(folder, fs::remove_dir_all(folder))
}

/// Removes a file, if it exists.
pub(super) fn remove_file(file: &Path) -> Result<()> {
    ignore_missing(file, fs::remove_file(file))
}

fn ignore_missing(path: &Path, removed: io::Result<()>) -> Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(XtaskError::with_cause(path.display(), error)),
        _ => Ok(()),
    }
}

/// Runs a command, which must exit with code `expected`, and returns its duration.
pub(super) fn time_command(mut command: Command, expected: i32) -> Result<Duration> {
    let started = Instant::now();
    let child = spawn_command(&mut command)?;
    wait_for_exit(child, &command, expected)?;
    Ok(started.elapsed())
}

pub(super) fn spawn_command(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(|error| XtaskError::with_cause(format!("cannot start {}", command_text(command)), error))
}

pub(super) fn wait_for_exit(mut child: Child, command: &Command, expected: i32) -> Result<()> {
    let status = child.wait().map_err(|error| XtaskError::with_cause(command_text(command), error))?;
    if status.code() == Some(expected) {
        return Ok(());
    }
    Err(XtaskError::new(format!("{} ended with {status}, expected exit code {expected}", command_text(command))))
}

fn command_text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_is_parsed_from_df() {
        let listed = "Filesystem 1048576-blocks Used Available Capacity Mounted on\ntmpfs 24106 12 24094 1% /dev/shm\n";
        assert_eq!((parse_available(listed), parse_available("")), (Some(24_094), None));
    }
}
