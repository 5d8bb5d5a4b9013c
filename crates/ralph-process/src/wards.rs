//! The supervisors of a keeper. Each is watched to its end, and whatever a killed one leaves behind is killed.
//! As a keeper adopts orphans, all its children are either supervisors or left behind.

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, WaitStatus, kill_process};

use super::bell::Bell;
use super::ending::Gone;
use super::fds::{JobFds, abandon};
use super::message::{Report, Step};
use super::seen::Seen;
use super::spare::{Given, Spare};
use super::tree::{Hunt, Hunted, Left, alive_apart_from, reap};

#[derive(Default)]
pub(super) struct Wards {
    /// Supervisors that live or wait to be reaped, each with its end of the line to ralph.
    serving: HashMap<Pid, UnixStream>,
    /// The lines of those that were killed: ralph still waits there for a last word.
    bereft: Vec<UnixStream>,
    /// The one that waits for the next job.
    spare: Option<Spare>,
    /// The line of the one that starts its job: the next spare can wait until that is done.
    starting: Option<UnixStream>,
}

impl Wards {
    /// Has a supervisor ready for the next job. `mine` is what only the keeper may hold.
    pub(super) fn prepare(&mut self, mine: &[BorrowedFd<'_>]) {
        self.starting = None;
        if self.spare.is_none() {
            self.spare = self.fork_spare(mine).ok();
        }
    }

    /// Gives a job to a supervisor of its own.
    pub(super) fn serve(&mut self, job: JobFds, mine: &[BorrowedFd<'_>]) {
        let given = match self.spare.take().map(|spare| spare.give(&job)) {
            Some(Ok(supervisor)) => Ok(supervisor),
            // There was none, or it was killed while it waited.
            Some(Err(_)) | None => self.fork_spare(mine).and_then(|spare| spare.give(&job)),
        };
        // The next spare must not hold the other ends: the output would never end.
        let mut control = job.into_control();
        match given {
            Ok(Given { supervisor, starting }) => {
                self.serving.insert(supervisor, control);
                self.starting = Some(starting);
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = control.write_all(&Report::CouldNotStart { step: Step::Fork, errno }.encode());
            }
        }
    }

    /// Returns the line that ends when there is time to [`prepare`](Self::prepare).
    pub(super) fn starting(&self) -> Option<&UnixStream> {
        self.starting.as_ref()
    }

    /// A supervisor that held a line of the keeper, or another's, would hide a death from ralph.
    fn fork_spare(&self, mine: &[BorrowedFd<'_>]) -> io::Result<Spare> {
        Spare::fork(|| {
            mine.iter().copied().for_each(abandon);
            let lines = self.serving.values().chain(&self.bereft).chain(&self.starting);
            lines.for_each(|line| abandon(line.as_fd()));
        })
    }

    /// Reaps supervisors that have ended. Where one was killed, kills what it answered for and tells ralph.
    pub(super) fn bury(&mut self, bell: &Bell) {
        self.collect();
        if self.bereft.is_empty() {
            return;
        }
        let mut gone = self.hunt(bell);
        for mut line in std::mem::take(&mut self.bereft) {
            let _ = line.write_all(&Report::Gone(gone).encode());
            // Whose they were nobody knows, so the first is told of all.
            gone = Gone { killed: 0, leaked: Vec::new() };
        }
    }

    /// Stays until nothing is left: ralph is gone, the supervisors clean up, and the keeper does it for those that
    /// were killed.
    pub(super) fn outlive(mut self, bell: &Bell) {
        let mut hunt = Hunt::begin();
        // Without its line it ends, and nobody spares it any more.
        self.spare = None;
        while self.collect().left == Left::Some {
            if !self.serving.is_empty() {
                self.wake();
                hunt = Hunt::begin();
            }
            match hunt.pass(self.orphans()) {
                Hunted::Over(_) => return,
                Hunted::FoundMore => {}
                Hunted::Dying => bell.rest(),
            }
        }
    }

    /// A supervisor that its agent has stopped would not notice that ralph is gone.
    fn wake(&self) {
        for supervisor in self.serving.keys() {
            // Not reaped yet, so the number is still its own.
            let _ = kill_process(*supervisor, Signal::CONT);
        }
    }

    fn hunt(&mut self, bell: &Bell) -> Gone {
        let mut hunt = Hunt::begin();
        loop {
            let orphans = self.orphans();
            // One that died while we looked may have left others where we had looked already.
            let look_again = self.collect().someone_died;
            if orphans.is_empty() && !look_again {
                return hunt.gone(orphans);
            }
            match hunt.pass(orphans) {
                Hunted::Over(gone) => return gone,
                Hunted::Dying if !look_again => bell.rest(),
                Hunted::FoundMore | Hunted::Dying => {}
            }
        }
    }

    fn orphans(&self) -> Vec<Seen> {
        alive_apart_from(|pid| self.serving.contains_key(&pid) || self.is_spare(pid))
    }

    fn is_spare(&self, pid: Pid) -> bool {
        self.spare.as_ref().is_some_and(|spare| spare.pid() == pid)
    }

    fn collect(&mut self) -> Collected {
        let mut someone_died = false;
        let left = reap(|pid, status| {
            someone_died = true;
            self.note(pid, status);
        });
        Collected { left, someone_died }
    }

    /// A supervisor that ended well has said its last word.
    fn note(&mut self, pid: Pid, status: WaitStatus) {
        if self.is_spare(pid) {
            self.spare = None;
        }
        let line = self.serving.remove(&pid);
        if status.exit_status() != Some(0) {
            self.bereft.extend(line);
        }
    }
}

/// What was found when the dead were reaped.
struct Collected {
    left: Left,
    someone_died: bool,
}
