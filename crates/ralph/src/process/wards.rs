//! The supervisors of a keeper. Each is watched to its end, and whatever a killed one leaves behind is killed.
//! As a keeper adopts orphans, all its children are either supervisors or left behind.

use std::collections::HashMap;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, WaitStatus, kill_process};

use super::bell::Bell;
use super::ending::Gone;
use super::fds::abandon;
use super::message::Report;
use super::seen::Seen;
use super::tree::{Hunt, Hunted, Left, alive_apart_from, reap};

#[derive(Default)]
pub(super) struct Wards {
    /// Supervisors that live or wait to be reaped, each with its end of the line to ralph.
    serving: HashMap<Pid, UnixStream>,
    /// The lines of those that were killed: ralph still waits there for a last word.
    bereft: Vec<UnixStream>,
}

impl Wards {
    pub(super) fn add(&mut self, supervisor: Pid, line: UnixStream) {
        self.serving.insert(supervisor, line);
    }

    /// Closes all lines in a fresh fork: a supervisor that held another's would hide its death from ralph.
    pub(super) fn abandon(&self) {
        self.serving.values().chain(&self.bereft).for_each(|line| abandon(line.as_fd()));
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
        alive_apart_from(|pid| self.serving.contains_key(&pid))
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
