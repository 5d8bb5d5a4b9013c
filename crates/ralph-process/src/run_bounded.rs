//! Runs short helper programs such as git to their end, or kills their process group after a timeout.
//! They are not jobs: processes that leave the group are not tracked.
use std::cell::RefCell;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::unix::platform;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

/// How long to wait for more output after the program exited, if another process still holds its pipes open.
const PIPE_DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// How often to poll a program that has closed its pipes but not exited.
const EXIT_POLL_INTERVAL: Duration = Duration::from_micros(200);

/// How a bounded program ended.
#[derive(Debug)]
pub enum BoundedOutcome {
    Exited {
        status: ExitStatus,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
    },
    /// The timeout expired and the program was killed.
    TimedOut,
    /// The cancel flag was set and the program was killed.
    Cancelled,
}

thread_local! {
    /// Cancels the programs that this thread runs.
    static CANCEL_FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs `work`; programs that it starts with [`run_bounded`] are killed as soon as `cancel_flag` becomes true.
pub fn with_cancel_flag<T>(cancel_flag: Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let _reset_on_drop = CancelFlagGuard;
    CANCEL_FLAG.set(Some(cancel_flag));
    work()
}

/// Returns the cancel flag of this thread, for a thread that it starts.
#[must_use]
pub fn current_cancel_flag() -> Option<Arc<AtomicBool>> {
    CANCEL_FLAG.with_borrow(Clone::clone)
}

/// Resets the cancel flag of this thread, also after a panic.
struct CancelFlagGuard;

impl Drop for CancelFlagGuard {
    fn drop(&mut self) {
        CANCEL_FLAG.set(None);
    }
}

/// Returns whether the work of this thread was cancelled. Long reads of files ask between two pieces.
#[must_use]
pub fn is_cancelled() -> bool {
    CANCEL_FLAG.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

/// Runs a program for at most `time_limit`. All of its `input` must be available already.
pub fn run_bounded(command: &mut Command, input: Stdio, time_limit: Duration) -> io::Result<BoundedOutcome> {
    let deadline = Instant::now() + time_limit;
    let command = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn_bound_child(command.process_group(0))?;
    let outcome = collect_output(&mut child, deadline);
    if !matches!(outcome, Ok(BoundedOutcome::Exited { .. })) {
        kill_group_and_wait(&mut child);
    }
    outcome
}

/// Starts a child that the kernel kills if this process dies, so that no git outlives a killed ralph. This thread waits for the
/// child, so it does not exit before the child does.
#[expect(unsafe_code, reason = "std has no other way to run a system call between fork and exec")]
fn spawn_bound_child(command: &mut Command) -> io::Result<Child> {
    let parent = rustix::process::getpid();
    // SAFETY: the closure only makes two system calls, which are safe between fork and exec.
    unsafe {
        command.pre_exec(move || Ok(platform::die_with_parent(parent)?));
    }
    command.spawn()
}

fn collect_output(child: &mut Child, deadline: Instant) -> io::Result<BoundedOutcome> {
    let (mut out, mut err) = (CapturedPipe::new(child.stdout.take()), CapturedPipe::new(child.stderr.take()));
    while out.is_open() || err.is_open() {
        let rest = deadline.saturating_duration_since(Instant::now());
        // Checked before the pipes are read: everything the program wrote before its exit is in them by then.
        let has_ended = child.try_wait()?.is_some();
        let has_output = wait_for_output(&out, &err, rest.min(PIPE_DRAIN_TIMEOUT))?;
        out.read_if_ready(has_output[0])?;
        err.read_if_ready(has_output[1])?;
        let is_quiet = has_output == [false, false];
        if is_quiet && has_ended {
            break;
        }
        if is_cancelled() {
            return Ok(BoundedOutcome::Cancelled);
        }
        if rest.is_zero() {
            return Ok(BoundedOutcome::TimedOut);
        }
    }
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(BoundedOutcome::Exited { status, stdout: out.captured, stderr: err.captured });
        }
        if is_cancelled() {
            return Ok(BoundedOutcome::Cancelled);
        }
        if Instant::now() > deadline {
            return Ok(BoundedOutcome::TimedOut);
        }
        // Both pipes are closed, so the program most likely exits within moments.
        wait_for_output(&out, &err, EXIT_POLL_INTERVAL)?;
    }
}

/// A pipe and the bytes read from it so far.
struct CapturedPipe<R> {
    source: Option<R>,
    captured: Vec<u8>,
}

impl<R: Read + AsFd> CapturedPipe<R> {
    fn new(source: Option<R>) -> Self {
        Self { source, captured: Vec::new() }
    }

    fn is_open(&self) -> bool {
        self.source.is_some()
    }

    fn source_fd(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// Reads once; closes the pipe at end of file.
    fn read_if_ready(&mut self, is_ready: bool) -> io::Result<()> {
        let Some(from) = self.source.as_mut().filter(|_| is_ready) else { return Ok(()) };
        let mut piece = [0; 16 * 1024];
        match from.read(&mut piece) {
            Ok(0) => self.source = None,
            Ok(count) => self.captured.extend_from_slice(piece.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Waits until one of the pipes is readable or at end of file, and returns which of them are.
fn wait_for_output<A: Read + AsFd, B: Read + AsFd>(
    out: &CapturedPipe<A>,
    err: &CapturedPipe<B>,
    timeout: Duration,
) -> io::Result<[bool; 2]> {
    let mut fds: Vec<PollFd<'_>> = [out.source_fd(), err.source_fd()]
        .into_iter()
        .flatten()
        .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
        .collect();
    let at_most = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    match poll(&mut fds, Some(&at_most)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut is_ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let mut next = |is_open: bool| is_open && is_ready.next().unwrap_or(false);
    Ok([next(out.is_open()), next(err.is_open())])
}

fn kill_group_and_wait(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_shell(text: &str, time_limit: Duration) -> BoundedOutcome {
        run_bounded(Command::new("sh").args(["-c", text]), Stdio::null(), time_limit).unwrap()
    }

    const LONG_TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn output_of_both_pipes_is_read_to_the_end() {
        let many = "i=0; while [ $i -lt 20000 ]; do echo 0123456789; echo ab >&2; i=$((i+1)); done; exit 3";
        let BoundedOutcome::Exited { status, stdout, stderr } = run_shell(many, LONG_TIMEOUT) else { panic!() };
        assert_eq!((status.code(), stdout.len(), stderr.len()), (Some(3), 220_000, 60_000));
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let temp = tempfile::tempdir().unwrap();
        let pid = temp.path().join("pid");
        let text = format!("sleep 1000 & echo $! > {}; wait", pid.display());
        assert!(matches!(run_shell(&text, Duration::from_secs(1)), BoundedOutcome::TimedOut));
        let pid: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
        let is_gone = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            status.is_empty() || status.contains("State:\tZ")
        };
        let deadline = Instant::now() + LONG_TIMEOUT;
        while !is_gone() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(is_gone());
    }

    #[test]
    fn a_program_that_closes_its_pipes_and_stays_is_killed_too() {
        assert!(matches!(run_shell("exec >&- 2>&-; sleep 1000", Duration::from_millis(300)), BoundedOutcome::TimedOut));
    }

    #[test]
    fn a_process_that_keeps_the_pipes_of_an_exited_program_open_is_not_waited_for() {
        let started = Instant::now();
        let BoundedOutcome::Exited { status, stdout, .. } = run_shell("echo done; setsid sleep 3 &", LONG_TIMEOUT)
        else {
            panic!()
        };
        assert!(status.success() && stdout == b"done\n" && started.elapsed() < LONG_TIMEOUT);
    }

    // spec: L12
    #[test]
    fn cancelling_kills_the_running_program_but_not_the_next_one() {
        let cancel_flag = Arc::new(AtomicBool::new(true));
        let cancelled = with_cancel_flag(cancel_flag, || run_shell("sleep 1000", LONG_TIMEOUT));
        assert!(matches!(cancelled, BoundedOutcome::Cancelled));
        assert!(matches!(run_shell("true", LONG_TIMEOUT), BoundedOutcome::Exited { .. }));
    }
}
