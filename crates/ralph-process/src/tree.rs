//! Finds, signals, reaps and kills the descendants of a supervisor, and the orphans of a keeper.
//! As every orphan among them is adopted, "no child left" means "nothing left".

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, test_kill_process_group, wait,
};

use super::ending::{Exit, Gone, Survivor};
use super::platform;
use super::seen::Seen;

/// How long a process may resist SIGKILL before it is reported as leaked.
pub(super) const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// How often the tree is looked at again while nothing is heard of it.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The descendants of this process, of which `root` leads the process group.
pub(super) struct Tree {
    root: Pid,
    exit: Option<Exit>,
}

/// What is left after reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    Some,
}

impl Tree {
    pub(super) fn new(root: Pid) -> Tree {
        Tree { root, exit: None }
    }

    /// Returns how the root ended, if it did.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Collects every dead child without waiting.
    pub(super) fn reap(&mut self) -> Left {
        reap(|pid, status| self.note(pid, status))
    }

    fn note(&mut self, pid: Pid, status: WaitStatus) {
        if pid != self.root {
            return;
        }
        self.exit = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(Exit::Code(code)),
            (None, Some(signal)) => Some(Exit::Signal(signal)),
            (None, None) => self.exit,
        };
    }

    /// Signals the root's process group. Does nothing once the root is reaped: its number may be another's by then.
    pub(super) fn signal_group(&self, signal: Signal) {
        if self.exit.is_none() {
            let _ = kill_process_group(self.root, signal);
        }
    }

    pub(super) fn group_is_alive(&self) -> bool {
        test_kill_process_group(self.root).is_ok()
    }

    /// Stops every descendant, parents first. A process with a pending signal cannot fork, so the first look that
    /// shows no new one is the last.
    pub(super) fn pause(&self) {
        let mut paused = HashSet::new();
        self.signal_group_where_blind(Signal::STOP);
        while alive().iter().filter(|seen| signal_once(seen, Signal::STOP, &mut paused)).count() > 0 {}
    }

    /// Continues every descendant, children first, so that no parent finds its child still stopped.
    pub(super) fn resume(&self) {
        self.signal_group_where_blind(Signal::CONT);
        for seen in alive().iter().rev() {
            let _ = platform::signal(seen, Signal::CONT);
        }
    }

    /// Kills the group where nothing more can be seen.
    pub(super) fn kill_where_blind(&self) {
        self.signal_group_where_blind(Signal::KILL);
    }

    fn signal_group_where_blind(&self, signal: Signal) {
        if !platform::SEES_THE_TREE {
            let _ = kill_process_group(self.root, signal);
        }
    }
}

/// A killing in progress: who got SIGKILL, and until when the rest may resist.
pub(super) struct Hunt {
    until: Instant,
    killed: HashSet<Identity>,
}

/// How a hunt stands after one look at the tree.
pub(super) enum Hunted {
    /// Nothing is left, or what is left has resisted too long.
    Over(Gone),
    /// Others were found and signalled: look again at once, they may have left orphans.
    FoundMore,
    /// All that live have got their signal: wait for one to die.
    Dying,
}

impl Hunt {
    pub(super) fn begin() -> Hunt {
        Hunt { until: Instant::now() + KILL_PATIENCE, killed: HashSet::new() }
    }

    /// Kills once what was seen alive.
    pub(super) fn pass(&mut self, alive: Vec<Seen>) -> Hunted {
        let fresh = alive.iter().filter(|seen| signal_once(seen, Signal::KILL, &mut self.killed)).count();
        match fresh {
            _ if Instant::now() > self.until => Hunted::Over(self.gone(alive)),
            0 => Hunted::Dying,
            _ => Hunted::FoundMore,
        }
    }

    pub(super) fn gone(&self, left: Vec<Seen>) -> Gone {
        Gone { killed: u32::try_from(self.killed.len()).unwrap_or(u32::MAX), leaked: survivors(left) }
    }
}

/// Names a process for ever: its pid and its start time.
pub(super) type Identity = (Pid, u64);

/// Signals a process unless it is among those that already got it. Says whether it got it now.
pub(super) fn signal_once(seen: &Seen, signal: Signal, done: &mut HashSet<Identity>) -> bool {
    !done.contains(&(seen.pid, seen.start))
        && platform::signal(seen, signal).is_ok()
        && done.insert((seen.pid, seen.start))
}

pub(super) fn survivors(left: Vec<Seen>) -> Vec<Survivor> {
    left.into_iter()
        .map(|seen| Survivor { pid: seen.pid.as_raw_pid().cast_unsigned(), name: seen.name })
        .collect()
}

/// Collects every dead child of this process without waiting.
pub(super) fn reap(mut note: impl FnMut(Pid, WaitStatus)) -> Left {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => note(pid, status),
            Ok(None) => return Left::Some,
            Err(Errno::INTR) => {}
            Err(_) => return Left::Nothing,
        }
    }
}

/// Returns the living descendants of this process, parents before their children.
pub(super) fn alive() -> Vec<Seen> {
    alive_apart_from(|_| false)
}

/// Returns the same without those that are `spared`, and without what lives below them.
pub(super) fn alive_apart_from(spared: impl Fn(Pid) -> bool) -> Vec<Seen> {
    let mut rest = platform::processes();
    let mut found: Vec<Seen> = Vec::new();
    let mut parents = HashSet::from([getpid()]);
    while !parents.is_empty() {
        let (mut children, others): (Vec<Seen>, Vec<Seen>) =
            rest.into_iter().partition(|seen| seen.parent.is_some_and(|parent| parents.contains(&parent)));
        children.retain(|seen| !spared(seen.pid));
        parents = children.iter().map(|seen| seen.pid).collect();
        found.extend(children);
        rest = others;
    }
    found.retain(|seen| seen.alive);
    found
}
