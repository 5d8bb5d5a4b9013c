//! The fixture of every test: jobs with a unique run id, waiting with a timeout, and reading the process table.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ralph_process::{Job, JobSpec, Keeper, StdinSource};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;

static COUNT: AtomicU32 = AtomicU32::new(0);

pub(crate) const LONG_TIMEOUT: Duration = Duration::from_secs(50);

/// The fixture of one test. Every job that it starts carries `run_id`.
pub(crate) struct Fixture {
    pub(crate) keeper: Keeper,
    pub(crate) run_id: String,
}

impl Fixture {
    pub(crate) fn new(keeper: &Keeper) -> Fixture {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Fixture { keeper: keeper.clone(), run_id: format!("test-{}-{number}", std::process::id()) }
    }

    pub(crate) fn spec(&self, program: &str, args: &[&str]) -> JobSpec {
        spec(&self.run_id, program, args)
    }

    pub(crate) async fn sh(&self, script: &str) -> Job {
        self.keeper.spawn(self.spec("/bin/sh", &["-c", script])).await.unwrap()
    }

    /// Asserts invariant I4: no process of this run is alive, and this process has no zombies.
    pub(crate) fn assert_nothing_is_left(&self) {
        let own_pid = std::process::id();
        let is_zombie = |pid: &u32| parent(*pid) == Some(own_pid) && !is_alive(*pid);
        assert_eq!(every_pid().iter().filter(|pid| is_zombie(pid)).count(), 0, "zombies are left");
        assert_eq!(processes_of_run(&self.run_id), Vec::<u32>::new(), "processes of the run are alive");
    }
}

pub(crate) fn spec(run_id: &str, program: &str, args: &[&str]) -> JobSpec {
    JobSpec {
        program: PathBuf::from(program),
        args: args.iter().map(OsString::from).collect(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        cwd: PathBuf::from("/"),
        run_id: run_id.to_owned(),
        stdin: StdinSource::Null,
        linger: JobSpec::DEFAULT_LINGER,
        memory_limit: None,
    }
}

/// Returns the living processes that carry a run id.
pub(crate) fn processes_of_run(run_id: &str) -> Vec<u32> {
    let variable = format!("RALPH_RUN_ID={run_id}");
    let has_run_id = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()))
    };
    every_pid().into_iter().filter(has_run_id).collect()
}

pub(crate) fn every_pid() -> Vec<u32> {
    fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the fields of /proc/PID/stat after the name: state, parent, group, session, terminal.
pub(crate) fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

pub(crate) fn state(pid: u32) -> Option<String> {
    Some(stat(pid)?.first()?.clone())
}

pub(crate) fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// Returns all descendants of a process.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let is_descendant = |pid: &u32| std::iter::successors(parent(*pid), |pid| parent(*pid)).any(|pid| pid == root);
    every_pid().into_iter().filter(is_descendant).collect()
}

pub(crate) fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != "Z" && state != "X")
}

/// Waits until a condition holds.
pub(crate) async fn until(description: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting until {description}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn reader(fd: std::os::fd::OwnedFd) -> BufReader<Receiver> {
    BufReader::new(Receiver::from_owned_fd(fd).unwrap())
}

pub(crate) async fn line(output: &mut BufReader<Receiver>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).await.unwrap();
    line.trim_end().to_owned()
}

pub(crate) async fn rest(output: &mut BufReader<Receiver>) -> String {
    let mut text = String::new();
    output.read_to_string(&mut text).await.unwrap();
    text
}

/// Sends a signal by its name.
pub(crate) fn kill(signal: &str, pid: u32) {
    kill_all(signal, &[pid]);
}

/// Sends a signal to several processes with one command.
pub(crate) fn kill_all(signal: &str, pids: &[u32]) {
    let pids = pids.iter().map(u32::to_string);
    let status = std::process::Command::new("/bin/kill").arg(signal).args(pids).status().unwrap();
    assert!(status.success());
}

/// Creates a temporary folder with one file, `program`, and returns both. The folder is removed when dropped.
pub(crate) fn file(content: &[u8], mode: u32) -> (tempfile::TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    (folder, path)
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
