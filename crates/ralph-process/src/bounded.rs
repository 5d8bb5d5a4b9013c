//! Short programs of our own choice, such as git: they run to their end, or are killed with their group when their time is
//! over. They are no jobs: whatever leaves their group is not looked for.
use std::cell::RefCell;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

/// How long a program that has ended is waited for because something else still has its pipes.
const LINGER: Duration = Duration::from_millis(100);

/// How often a program is looked at that has closed its pipes.
const MOMENT: Duration = Duration::from_micros(200);

/// What became of a program.
#[derive(Debug)]
pub enum Bounded {
    Ended {
        status: ExitStatus,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
    },
    /// It took too long, and was killed.
    TimeOver,
    /// Nobody wants to know any more, and it was killed.
    Halted,
}

thread_local! {
    /// What ends the programs of this thread.
    static HALT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Does something whose programs are killed as soon as this becomes true.
pub fn heeding<T>(halt: Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let _heeded = Heeded;
    HALT.set(Some(halt));
    work()
}

/// The thread does something else afterwards, also after a panic.
struct Heeded;

impl Drop for Heeded {
    fn drop(&mut self) {
        HALT.set(None);
    }
}

fn is_halted() -> bool {
    HALT.with_borrow(|halt| halt.as_ref().is_some_and(|halt| halt.load(Ordering::Relaxed)))
}

/// Runs a program for at most this time. What it reads must be there already.
pub fn run_bounded(command: &mut Command, input: Stdio, time: Duration) -> io::Result<Bounded> {
    let until = Instant::now() + time;
    let command = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn()?;
    let ended = attend(&mut child, until);
    if !matches!(ended, Ok(Bounded::Ended { .. })) {
        put_down(&mut child);
    }
    ended
}

fn attend(child: &mut Child, until: Instant) -> io::Result<Bounded> {
    let (mut out, mut err) = (Pipe::of(child.stdout.take()), Pipe::of(child.stderr.take()));
    while out.is_open() || err.is_open() {
        let rest = until.saturating_duration_since(Instant::now());
        // Looked at before its pipes are: what it wrote before its end is in them by then.
        let has_ended = child.try_wait()?.is_some();
        let has_news = wait((&out, &err), rest.min(LINGER))?;
        out.read_if(has_news[0])?;
        err.read_if(has_news[1])?;
        let is_quiet = has_news == [false, false];
        if is_quiet && has_ended {
            break;
        }
        if is_halted() {
            return Ok(Bounded::Halted);
        }
        if rest.is_zero() {
            return Ok(Bounded::TimeOver);
        }
    }
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Bounded::Ended { status, stdout: out.read, stderr: err.read });
        }
        if is_halted() {
            return Ok(Bounded::Halted);
        }
        if Instant::now() > until {
            return Ok(Bounded::TimeOver);
        }
        // Both pipes are at their end, and so is it, most likely.
        wait((&out, &err), MOMENT)?;
    }
}

/// What is read of a pipe, until it ends.
struct Pipe<R> {
    from: Option<R>,
    read: Vec<u8>,
}

impl<R: Read + AsFd> Pipe<R> {
    fn of(from: Option<R>) -> Self {
        Self { from, read: Vec::new() }
    }

    fn is_open(&self) -> bool {
        self.from.is_some()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.from.as_ref().map(AsFd::as_fd)
    }

    /// Reads once; at the end the pipe is closed.
    fn read_if(&mut self, has_news: bool) -> io::Result<()> {
        let Some(from) = self.from.as_mut().filter(|_| has_news) else { return Ok(()) };
        let mut piece = [0; 16 * 1024];
        match from.read(&mut piece) {
            Ok(0) => self.from = None,
            Ok(count) => self.read.extend_from_slice(piece.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Waits until one of the pipes has something, or its end, and tells which.
fn wait<A: Read + AsFd, B: Read + AsFd>(
    (out, err): (&Pipe<A>, &Pipe<B>),
    at_most: Duration,
) -> io::Result<[bool; 2]> {
    let mut fds: Vec<PollFd<'_>> = [out.fd(), err.fd()]
        .into_iter()
        .flatten()
        .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
        .collect();
    let at_most = Timespec::try_from(at_most).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    match poll(&mut fds, Some(&at_most)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut news = fds.iter().map(|fd| !fd.revents().is_empty());
    let mut next = |is_open: bool| is_open && news.next().unwrap_or(false);
    Ok([next(out.is_open()), next(err.is_open())])
}

fn put_down(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str, time: Duration) -> Bounded {
        run_bounded(Command::new("sh").args(["-c", text]), Stdio::null(), time).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_a_program_prints_is_read_to_the_end_from_both_pipes() {
        let many = "i=0; while [ $i -lt 20000 ]; do echo 0123456789; echo ab >&2; i=$((i+1)); done; exit 3";
        let Bounded::Ended { status, stdout, stderr } = shell(many, LONG) else { panic!() };
        assert_eq!((status.code(), stdout.len(), stderr.len()), (Some(3), 220_000, 60_000));
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let temp = tempfile::tempdir().unwrap();
        let pid = temp.path().join("pid");
        let text = format!("sleep 1000 & echo $! > {}; wait", pid.display());
        assert!(matches!(shell(&text, Duration::from_secs(1)), Bounded::TimeOver));
        let pid: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
        let is_gone = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            status.is_empty() || status.contains("State:\tZ")
        };
        let patience = Instant::now() + LONG;
        while !is_gone() && Instant::now() < patience {
            std::thread::yield_now();
        }
        assert!(is_gone());
    }

    #[test]
    fn a_program_that_closes_its_pipes_and_stays_is_killed_too() {
        assert!(matches!(shell("exec >&- 2>&-; sleep 1000", Duration::from_millis(300)), Bounded::TimeOver));
    }

    #[test]
    fn whoever_keeps_the_pipes_of_a_program_that_has_ended_is_not_waited_for() {
        let began = Instant::now();
        let Bounded::Ended { status, stdout, .. } = shell("echo done; setsid sleep 3 &", LONG) else {
            panic!()
        };
        assert!(status.success() && stdout == b"done\n" && began.elapsed() < LONG);
    }

    // spec: L12
    #[test]
    fn a_program_that_nobody_waits_for_any_more_is_killed_and_the_next_one_is_not() {
        let halt = Arc::new(AtomicBool::new(true));
        let halted = heeding(halt, || shell("sleep 1000", LONG));
        assert!(matches!(halted, Bounded::Halted));
        assert!(matches!(shell("true", LONG), Bounded::Ended { .. }));
    }
}
