//! Kills what a run left behind when supervisor and keeper, who answered for it, are dead.
//! It never touches a process of another run, one that a living supervisor answers for, or itself and its ancestors.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, waitpid};

use super::RUN_ID_VARIABLE;
use super::helper_pids;
use super::job_completion::LeakedProcess;
use super::platform;
use super::process_snapshot::ProcessSnapshot;
use super::process_tree::{KILL_TIMEOUT, ProcessKey, signal_once, to_leaked_processes};

const SWEEP_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// What a sweep found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepResult {
    /// Processes that were killed.
    pub killed: u32,
    /// Processes that could not be killed within five seconds.
    pub leaked: Vec<LeakedProcess>,
}

/// Kills every process that carries this run's id, and every orphan that a dead supervisor and a dead keeper left to
/// ralph.
///
/// Blocks until they are gone, five seconds at most. Only Linux shows the environment of other processes; elsewhere
/// nothing is found.
pub fn kill_run_processes(run_id: &str) -> SweepResult {
    let environment_entry = format!("{RUN_ID_VARIABLE}={run_id}");
    let deadline = Instant::now() + KILL_TIMEOUT;
    let mut killed = HashSet::new();
    loop {
        let remaining = find_targets(&environment_entry);
        if remaining.is_empty() || Instant::now() > deadline {
            return to_sweep_result(&killed, remaining);
        }
        let fresh = remaining.iter().filter(|process| signal_once(process, Signal::KILL, &mut killed)).count();
        if fresh == 0 {
            std::thread::sleep(SWEEP_POLL_INTERVAL);
        }
    }
}

/// Sweeps behind a supervisor and a keeper whose line broke.
///
/// A dying process loses its sockets before its children, and until then they seem to be in good hands.
pub(super) fn sweep_after_deaths(dead: [Pid; 2], run_id: &str) -> SweepResult {
    let deadline = Instant::now() + KILL_TIMEOUT;
    let is_dying = |pid: &Pid| platform::read_process(*pid).is_some_and(|process| process.is_alive);
    while dead.iter().any(is_dying) && Instant::now() < deadline {
        std::thread::sleep(SWEEP_POLL_INTERVAL);
    }
    kill_run_processes(run_id)
}

fn to_sweep_result(killed: &HashSet<ProcessKey>, remaining: Vec<ProcessSnapshot>) -> SweepResult {
    SweepResult { killed: u32::try_from(killed.len()).unwrap_or(u32::MAX), leaked: to_leaked_processes(remaining) }
}

/// Looks at every process once: reaps dead orphans, returns the living targets.
fn find_targets(environment_entry: &str) -> Vec<ProcessSnapshot> {
    let table = ProcessTable::new(platform::list_processes());
    table
        .unrelated_processes()
        .filter(|process| {
            (table.is_own_orphan(process) && !reap_if_dead(process)) || is_in_run(process, environment_entry)
        })
        .cloned()
        .collect()
}

fn is_in_run(process: &ProcessSnapshot, environment_entry: &str) -> bool {
    process.is_alive && platform::has_environment_entry(process.pid, environment_entry)
}

/// By pid, never any child: other parts of ralph may wait for their own.
fn reap_if_dead(process: &ProcessSnapshot) -> bool {
    !process.is_alive && waitpid(Some(process.pid), WaitOptions::NOHANG).is_ok()
}

/// All processes at one moment, with what must be spared.
struct ProcessTable {
    processes: HashMap<Pid, ProcessSnapshot>,
    helper_pids: HashSet<Pid>,
    own_pid: Pid,
    own_session_id: Option<Pid>,
}

impl ProcessTable {
    /// The session is taken from the table: in a container it may be one that has no number there.
    fn new(processes: Vec<ProcessSnapshot>) -> ProcessTable {
        let own_pid = getpid();
        let processes: HashMap<Pid, ProcessSnapshot> = processes.into_iter().map(|seen| (seen.pid, seen)).collect();
        let own_session_id = processes.get(&own_pid).and_then(|seen| seen.session_id);
        ProcessTable { processes, helper_pids: helper_pids::helper_pids(), own_pid, own_session_id }
    }

    /// Returns the processes that are neither this one, nor above it, nor under a servant of it.
    fn unrelated_processes(&self) -> impl Iterator<Item = &ProcessSnapshot> {
        let own_ancestry: HashSet<Pid> = self.ancestry_of(self.own_pid).collect();
        self.processes
            .values()
            .filter(move |process| !own_ancestry.contains(&process.pid))
            .filter(|process| !self.ancestry_of(process.pid).any(|pid| self.helper_pids.contains(&pid)))
    }

    /// Returns a process and its ancestors. A table read while processes came and went may hold a ring; a line is never
    /// longer than the table.
    fn ancestry_of(&self, pid: Pid) -> impl Iterator<Item = Pid> {
        std::iter::successors(Some(pid), |pid| self.processes.get(pid)?.parent_pid).take(self.processes.len())
    }

    /// Only a supervisor's tree lives in another session than ralph and still becomes its child, and only when both
    /// that supervisor and the keeper died. Children that ralph had before its keeper came from whoever started it.
    fn is_own_orphan(&self, process: &ProcessSnapshot) -> bool {
        process.parent_pid == Some(self.own_pid)
            && process.session_id != self.own_session_id
            && helper_pids::keeper_start_time().is_some_and(|since| process.start_ticks >= since)
    }
}
