//! Kills what a run left behind when supervisor and keeper, who answered for it, are dead.
//! It never touches a process of another run, one that a living supervisor answers for, or itself and its ancestors.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, waitpid};

use super::RUN_ID_VARIABLE;
use super::ending::Survivor;
use super::own;
use super::platform;
use super::seen::Seen;
use super::tree::{Identity, KILL_PATIENCE, signal_once, survivors};

const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// What a sweep found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// Processes that were killed.
    pub killed: u32,
    /// Processes that could not be killed within five seconds.
    pub leaked: Vec<Survivor>,
}

/// Kills every process that carries this run's id, and every orphan that a dead supervisor and a dead keeper left to
/// ralph.
///
/// Blocks until they are gone, five seconds at most. Only Linux shows the environment of other processes; elsewhere
/// nothing is found.
pub fn sweep(run_id: &str) -> Swept {
    let mark = format!("{RUN_ID_VARIABLE}={run_id}");
    let until = Instant::now() + KILL_PATIENCE;
    let mut killed = HashSet::new();
    loop {
        let left = find(&mark);
        if left.is_empty() || Instant::now() > until {
            return swept(&killed, left);
        }
        let fresh = left.iter().filter(|seen| signal_once(seen, Signal::KILL, &mut killed)).count();
        if fresh == 0 {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

/// Sweeps behind a supervisor and a keeper whose line broke.
///
/// A dying process loses its sockets before its children, and until then they seem to be in good hands.
pub(super) fn sweep_after(dead: [Pid; 2], run_id: &str) -> Swept {
    let until = Instant::now() + KILL_PATIENCE;
    let is_dying = |pid: &Pid| platform::look(*pid).is_some_and(|seen| seen.alive);
    while dead.iter().any(is_dying) && Instant::now() < until {
        std::thread::sleep(LOOK_AGAIN);
    }
    sweep(run_id)
}

fn swept(killed: &HashSet<Identity>, left: Vec<Seen>) -> Swept {
    Swept { killed: u32::try_from(killed.len()).unwrap_or(u32::MAX), leaked: survivors(left) }
}

/// Looks at every process once: reaps dead orphans, returns the living targets.
fn find(mark: &str) -> Vec<Seen> {
    let table = Table::new(platform::processes());
    table
        .strangers()
        .filter(|seen| (table.is_our_orphan(seen) && !reaped(seen)) || is_marked(seen, mark))
        .cloned()
        .collect()
}

fn is_marked(seen: &Seen, mark: &str) -> bool {
    seen.alive && platform::carries(seen.pid, mark)
}

/// By pid, never any child: other parts of ralph may wait for their own.
fn reaped(seen: &Seen) -> bool {
    !seen.alive && waitpid(Some(seen.pid), WaitOptions::NOHANG).is_ok()
}

/// All processes at one moment, with what must be spared.
struct Table {
    seen: HashMap<Pid, Seen>,
    servants: HashSet<Pid>,
    me: Pid,
    session: Option<Pid>,
}

impl Table {
    /// The session is taken from the table: in a container it may be one that has no number there.
    fn new(processes: Vec<Seen>) -> Table {
        let me = getpid();
        let seen: HashMap<Pid, Seen> = processes.into_iter().map(|seen| (seen.pid, seen)).collect();
        let session = seen.get(&me).and_then(|seen| seen.session);
        Table { seen, servants: own::servants(), me, session }
    }

    /// Returns the processes that are neither this one, nor above it, nor under a servant of it.
    fn strangers(&self) -> impl Iterator<Item = &Seen> {
        let line: HashSet<Pid> = self.line_of(self.me).collect();
        self.seen
            .values()
            .filter(move |seen| !line.contains(&seen.pid))
            .filter(|seen| !self.line_of(seen.pid).any(|pid| self.servants.contains(&pid)))
    }

    /// Returns a process and its ancestors. A table read while processes came and went may hold a ring; a line is never
    /// longer than the table.
    fn line_of(&self, pid: Pid) -> impl Iterator<Item = Pid> {
        std::iter::successors(Some(pid), |pid| self.seen.get(pid)?.parent).take(self.seen.len())
    }

    /// Only a supervisor's tree lives in another session than ralph and still becomes its child, and only when both
    /// that supervisor and the keeper died. Children that ralph had before its keeper came from whoever started it.
    fn is_our_orphan(&self, seen: &Seen) -> bool {
        seen.parent == Some(self.me)
            && seen.session != self.session
            && own::since().is_some_and(|since| seen.start >= since)
    }
}
