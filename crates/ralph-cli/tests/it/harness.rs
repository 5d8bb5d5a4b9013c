//! A project in a temporary folder and the real binary in it. Every finished call is checked
//! against the invariants.
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::invariants;
use crate::process_table::{self, Process};

/// How long a test waits for a condition: long enough for a loaded machine.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// An empty git repository.
pub struct Project {
    temp: TempDir,
    /// Marks every process that comes from this project.
    pub mark: String,
}

impl Project {
    pub fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("ralph-it-").tempdir().unwrap();
        let mark = temp.path().display().to_string();
        let project = Self { temp, mark };
        fs::create_dir(project.root()).unwrap();
        fs::create_dir(project.home()).unwrap();
        let git = Command::new("git").args(["init", "--quiet"]).arg(project.root()).status().unwrap();
        assert!(git.success());
        project
    }

    pub fn root(&self) -> PathBuf {
        self.temp.path().join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    /// Returns a path outside of the project.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Commits everything.
    pub fn commit(&self) {
        self.git(&["add", "--all"]);
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        self.git(&[&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "a commit"]].concat());
    }

    /// Restores all committed files and removes the others.
    pub fn restore(&self) {
        self.git(&["checkout", "--quiet", "--force", "."]);
        self.git(&["clean", "--quiet", "--force", "-d"]);
    }

    pub fn git(&self, args: &[&str]) {
        let git = Command::new("git").args(args).current_dir(self.root()).status().unwrap();
        assert!(git.success(), "git {args:?}");
    }

    /// Writes a shell script outside of the project and returns its path.
    pub fn shell(&self, lines: &str) -> String {
        let path = self.outside("agent.sh");
        fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    /// Writes the steps for the `script` mode of the scripted agent.
    pub fn script(&self, steps: &str) -> String {
        let path = self.outside("script");
        fs::write(&path, steps).unwrap();
        path.display().to_string()
    }

    /// Returns the state folder of the project.
    pub fn state(&self) -> PathBuf {
        self.state_of(&self.root())
    }

    /// Returns the state folder of the project that contains a folder. If that was removed, the only state that there is.
    pub fn state_of(&self, folder: &Path) -> PathBuf {
        let user_state = self.home().join(".local/state/ralph").canonicalize();
        let user_state = user_state.unwrap_or_else(|_| self.home().join(".local/state/ralph"));
        match ralph_engine::project::Project::find_with_user_state(folder, &user_state) {
            Ok(project) => project.state_folder(),
            Err(_) => fs::read_dir(user_state.join("projects")).unwrap().next().unwrap().unwrap().path(),
        }
    }

    /// Returns one line for every start of the scripted agent.
    pub fn starts(&self) -> Vec<String> {
        let text = fs::read_to_string(self.outside("starts")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns a raw log of the newest run.
    pub fn log(&self, name: &str) -> Vec<u8> {
        let runs = fs::read_dir(self.state().join("runs")).unwrap();
        let newest = runs.map(|run| run.unwrap().path()).max().unwrap();
        fs::read(newest.join(name)).unwrap_or_default()
    }

    /// Prepares a call of `ralph` in the project's root.
    pub fn ralph<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Call<'_> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.temp.path())
            .env("RALPH_TEST_MARK", &self.mark)
            .env("CANARY_TOKEN", invariants::CANARY)
            .env("FA_COUNT", self.outside("starts"))
            .env("FA_READY", self.outside("ready"))
            // The scripted agents seldom change a file, and must not count as stalled.
            .env("RALPH_STALL_ITERATIONS", "0");
        Call { project: self, command, input: Vec::new(), reader: StreamReader::ReadsAll, timeout: WAIT_TIMEOUT }
    }

    /// Approves the commands of the project's configuration, if it can be read.
    pub fn trust(&self) {
        self.ralph(["trust", "--yes"]).output();
    }

    /// Prepares a loop with the scripted agent, reported as JSON lines.
    pub fn run(&self, mode: &[&str]) -> Call<'_> {
        self.run_on("do the work", mode).args(["--json"])
    }

    /// Prepares a loop with this prompt, reported for people.
    pub fn run_on(&self, prompt: &str, mode: &[&str]) -> Call<'_> {
        let agent = ["run", prompt, "--agent", "text", "--agent-cmd", FAKE_AGENT, "--promise", "COMPLETE"];
        self.ralph(agent).args(mode.iter().map(|arg| format!("--agent-arg={arg}")))
    }

    /// Prepares a loop with a shell script as the agent, reported as JSON lines.
    pub fn run_shell(&self, lines: &str) -> Call<'_> {
        let agent = self.shell(lines);
        self.ralph(["run", "do the work", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE", "--json"])
    }

    /// Prepares a loop with an agent that prints Claude's format.
    pub fn run_claude(&self, mode: &[&str]) -> Call<'_> {
        self.run(mode).args(["--output-format", "claude"])
    }

    /// Gives a file or folder the mode that ralph would give it.
    pub fn make_private(&self, path: &Path) {
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Returns the living agents and checks.
    pub fn processes_of_runs(&self) -> Vec<Process> {
        process_table::find_marked(&self.mark, "RALPH_RUN_ID=")
    }

    /// Returns all processes that come from this project: ralph, those that serve it, agents and checks.
    pub fn processes(&self) -> Vec<Process> {
        process_table::find_marked(&self.mark, "RALPH_TEST_MARK=")
    }

    /// Waits until a file exists.
    pub fn wait_for(&self, name: &str) {
        let path = self.outside(name);
        wait_until(&format!("{} exists", path.display()), || path.exists());
    }
}

pub const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_fake-agent");

/// Waits for a condition, with a generous deadline.
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_until_within(WAIT_TIMEOUT, what, condition);
}

/// Waits for a condition, with this timeout.
pub fn wait_until_within(timeout: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + timeout;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a while: for tests in which nothing may change during that time.
pub fn let_time_pass(time: Duration) {
    let end = Instant::now() + time;
    wait_until("time has passed", || Instant::now() >= end);
}

/// A call being prepared.
pub struct Call<'a> {
    project: &'a Project,
    command: Command,
    input: Vec<u8>,
    reader: StreamReader,
    timeout: Duration,
}

/// How much of the output of ralph is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamReader {
    ReadsAll,
    /// Closes both streams after the first line of each, as `head -1` does.
    ClosesAfterFirstLine,
}

impl<'a> Call<'a> {
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn folder(mut self, path: &Path) -> Self {
        self.command.current_dir(path);
        self
    }

    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Sets how long to wait for the end.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Closes the output streams after the first line.
    pub fn read_first_line_only(mut self) -> Self {
        self.reader = StreamReader::ClosesAfterFirstLine;
        self
    }

    /// Returns the prepared command, to be started in another way.
    pub fn command(self) -> Command {
        self.command
    }

    /// Lets the test change how the process is started.
    pub fn with(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.command);
        self
    }

    /// Starts ralph through another program: its arguments, then the command line of ralph.
    pub fn run_under<S: AsRef<OsStr>>(self, program: &str, args: impl IntoIterator<Item = S>) -> Self {
        let mut outer = Command::new(program);
        outer.args(args).arg(self.command.get_program()).args(self.command.get_args());
        self.replace_program(outer)
    }

    /// Starts another command in place of ralph, with the same environment and folder.
    pub fn replace_program(mut self, mut other: Command) -> Self {
        other.env_clear().envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        other.current_dir(self.command.get_current_dir().unwrap_or(Path::new(".")));
        self.command = other;
        self
    }

    /// Starts ralph under strace, which injects a fault.
    pub fn run_under_strace<S: AsRef<OsStr>>(self, args: impl IntoIterator<Item = S>) -> Self {
        let there = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
        assert!(there.is_ok(), "this test needs strace: `apt-get install strace`, or let `cargo xtask test` do it");
        self.run_under("strace", args)
    }

    /// Runs to the end without reading the output streams, and returns the exit code.
    pub fn run_unread(mut self) -> i32 {
        let piped = self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        wait_until("ralph has ended", || child.try_wait().unwrap().is_some());
        child.wait().unwrap().code().unwrap()
    }

    /// Runs to the end.
    pub fn output(self) -> CallOutput {
        self.start().wait()
    }

    /// Runs to the end on a state that the test damaged.
    pub fn output_with_damaged_state(self) -> CallOutput {
        let project = self.project;
        let answer = self.start().wait_without_invariants();
        invariants::assert_for_any_state(project, &answer);
        answer
    }

    /// Starts ralph and returns at once.
    pub fn start(mut self) -> Running<'a> {
        let piped = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.process_group(0).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = std::mem::take(&mut self.input);
        std::thread::spawn(move || drop(stdin.write_all(&input)));
        let stdout = CapturedStream::capture(child.stdout.take().unwrap(), self.reader);
        let stderr = CapturedStream::capture(child.stderr.take().unwrap(), self.reader);
        Running { project: self.project, child: KillOnDrop(child), stdout, stderr, timeout: self.timeout }
    }
}

/// One of ralph's output streams, readable while it grows.
struct CapturedStream {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl CapturedStream {
    fn capture(mut pipe: impl Read + Send + 'static, reader: StreamReader) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let mut piece = [0; 16 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut piece) {
                let mut bytes = written.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&piece[..count]);
                if reader == StreamReader::ClosesAfterFirstLine && bytes.contains(&b'\n') {
                    return;
                }
            }
        });
        Self { bytes, thread }
    }

    fn text_so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    fn into_text(self) -> String {
        self.thread.join().unwrap();
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }
}

/// A process that does not outlive a test that failed.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Fails if it has already ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A call that is running.
pub struct Running<'a> {
    project: &'a Project,
    child: KillOnDrop,
    stdout: CapturedStream,
    stderr: CapturedStream,
    timeout: Duration,
}

impl Running<'_> {
    pub fn pid(&self) -> u32 {
        self.child.0.id()
    }

    pub fn is_alive(&self) -> bool {
        process_table::is_alive(self.pid())
    }

    /// Sends a signal to ralph alone, as `kill` would.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid().cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Sends a signal to ralph's process group, as a terminal would.
    pub fn signal_group(&self, signal: rustix::process::Signal) {
        let group = rustix::process::Pid::from_raw(self.pid().cast_signed()).unwrap();
        rustix::process::kill_process_group(group, signal).unwrap();
    }

    /// Waits until ralph has reported an event, with `--json`.
    pub fn wait_for_event(&self, name: &str) -> Value {
        let mut found = Value::Null;
        wait_until_within(self.timeout, &format!("the event {name} is reported"), || {
            let text = self.stdout.text_so_far();
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let mut events = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            found = events.rfind(|event| event["event"] == name).unwrap_or_default();
            !found.is_null()
        });
        found
    }

    /// Returns the standard output so far.
    pub fn stdout_so_far(&self) -> String {
        self.stdout.text_so_far()
    }

    /// Waits until stderr contains this text.
    pub fn wait_for_stderr(&self, words: &str) {
        wait_until(&format!("stderr contains {words:?}"), || self.stderr.text_so_far().contains(words));
    }

    /// Waits until one of the streams is closed.
    pub fn wait_for_closed_stream(&self) {
        let left = || self.stdout.thread.is_finished() || self.stderr.thread.is_finished();
        wait_until("a stream is closed", left);
    }

    /// Waits for the end and checks the invariants.
    pub fn wait(self) -> CallOutput {
        let project = self.project;
        let answer = self.wait_without_invariants();
        invariants::assert_all(project, &answer);
        answer
    }

    /// Waits for the end without checking the invariants, because other processes of the project may still run.
    pub fn wait_without_invariants(mut self) -> CallOutput {
        let deadline = Instant::now() + self.timeout;
        let mut peak_memory_kb = 0;
        let status = loop {
            peak_memory_kb = process_table::peak_memory_kb(self.pid()).unwrap_or(peak_memory_kb);
            match self.child.0.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => panic!("ralph did not end within {:?}", self.timeout),
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        CallOutput { status, stdout: self.stdout.into_text(), stderr: self.stderr.into_text(), peak_memory_kb }
    }
}

/// Exit status and output of a finished call.
pub struct CallOutput {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// The peak memory of the ralph process.
    pub peak_memory_kb: u64,
}

impl CallOutput {
    /// Returns the exit code, or minus the signal.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| -self.status.signal().unwrap_or(0))
    }

    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns the events of a run with `--json`.
    pub fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the events of one name.
    pub fn events_named(&self, name: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["event"] == name).collect()
    }

    /// Returns the last event, which must be `run.finished`.
    pub fn finished(&self) -> Value {
        let last = self.events().pop().unwrap_or_else(|| panic!("no events; stderr:\n{}", self.stderr));
        assert_eq!(last["event"], "run.finished", "{last}");
        last
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}
