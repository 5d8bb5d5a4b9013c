//! What every story needs: jobs with a run id of their own, patience, and a look at the process table.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ralph_process::{Job, JobSpec, Keeper, StdinSource};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;

static COUNT: AtomicU32 = AtomicU32::new(0);

pub(crate) const FAR: Duration = Duration::from_secs(50);

/// One story's stage: every job it starts carries `run_id`.
pub(crate) struct Scene {
    pub(crate) keeper: Keeper,
    pub(crate) run_id: String,
}

impl Scene {
    pub(crate) fn new(keeper: &Keeper) -> Scene {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Scene { keeper: keeper.clone(), run_id: format!("story-{}-{number}", std::process::id()) }
    }

    pub(crate) fn spec(&self, program: &str, args: &[&str]) -> JobSpec {
        spec(&self.run_id, program, args)
    }

    pub(crate) async fn sh(&self, script: &str) -> Job {
        self.keeper.spawn(self.spec("/bin/sh", &["-c", script])).await.unwrap()
    }

    /// Asserts invariant I4: no process of this run is alive, and no dead one waits for ralph to reap it.
    pub(crate) fn assert_nothing_is_left(&self) {
        let me = std::process::id();
        let is_zombie = |pid: &u32| parent(*pid) == Some(me) && !is_alive(*pid);
        assert_eq!(every_pid().iter().filter(|pid| is_zombie(pid)).count(), 0, "zombies are left");
        assert_eq!(marked(&self.run_id), Vec::<u32>::new(), "processes of the run are alive");
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
pub(crate) fn marked(run_id: &str) -> Vec<u32> {
    let mark = format!("RALPH_RUN_ID={run_id}");
    let carries = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
    };
    every_pid().into_iter().filter(carries).collect()
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
pub(crate) fn below(root: u32) -> Vec<u32> {
    let is_below = |pid: &u32| std::iter::successors(parent(*pid), |pid| parent(*pid)).any(|pid| pid == root);
    every_pid().into_iter().filter(is_below).collect()
}

pub(crate) fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != "Z" && state != "X")
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + FAR;
    while !holds() {
        assert!(Instant::now() < end, "waited too long until {what}");
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

/// Sends a signal to several, one right after the other.
pub(crate) fn kill_all(signal: &str, pids: &[u32]) {
    let pids = pids.iter().map(u32::to_string);
    let done = std::process::Command::new("/bin/kill").arg(signal).args(pids).status().unwrap();
    assert!(done.success());
}

/// A folder with one file in it, removed at the end.
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
