//! Kills the remaining processes of a run after its supervisor and the keeper have died.
//! Never touches processes of other runs, descendants of a living supervisor, or this process and its ancestors.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, waitpid};

use crate::RUN_ID_VARIABLE;
use crate::job::job_completion::LeakedProcess;
use crate::keeper::helper_pids;
use crate::processes::process_snapshot::ProcessSnapshot;
use crate::processes::process_tree::{KILL_TIMEOUT, ProcessKey, signal_once, to_leaked_processes};
use crate::unix::platform;

const SWEEP_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The result of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepResult {
    /// Processes that were killed.
    pub killed: u32,
    /// Processes that could not be killed within five seconds.
    pub leaked: Vec<LeakedProcess>,
}

/// Kills every process with this run id in its environment, and every orphan that ralph inherited from a dead
/// supervisor and a dead keeper.
///
/// Blocks until they are gone, for at most five seconds. The environment of other processes is readable on Linux only;
/// on other platforms nothing is found.
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

/// Sweeps after the sockets of a supervisor and a keeper were closed.
///
/// A dying process closes its sockets before its children are reparented, so this waits until both are dead: until then
/// the children still appear to be supervised.
pub(crate) fn sweep_after_deaths(dead: [Pid; 2], run_id: &str) -> SweepResult {
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

/// Takes one snapshot of all processes, reaps dead orphans, and returns the living processes to kill.
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

/// Waits for this pid only, because other parts of ralph wait for their own children.
fn reap_if_dead(process: &ProcessSnapshot) -> bool {
    !process.is_alive && waitpid(Some(process.pid), WaitOptions::NOHANG).is_ok()
}

/// A snapshot of all processes, and which of them must not be killed.
struct ProcessTable {
    processes: HashMap<Pid, ProcessSnapshot>,
    helper_pids: HashSet<Pid>,
    own_pid: Pid,
    own_session_id: Option<Pid>,
}

impl ProcessTable {
    /// Takes the session from the snapshot: in a container, the session may have no pid in this namespace.
    fn new(processes: Vec<ProcessSnapshot>) -> ProcessTable {
        let own_pid = getpid();
        let processes: HashMap<Pid, ProcessSnapshot> =
            processes.into_iter().map(|process| (process.pid, process)).collect();
        let own_session_id = processes.get(&own_pid).and_then(|process| process.session_id);
        ProcessTable { processes, helper_pids: helper_pids::helper_pids(), own_pid, own_session_id }
    }

    /// Returns all processes except this one, its ancestors, and the descendants of its keeper and supervisors.
    fn unrelated_processes(&self) -> impl Iterator<Item = &ProcessSnapshot> {
        let own_ancestry: HashSet<Pid> = self.ancestry_of(self.own_pid).collect();
        self.processes
            .values()
            .filter(move |process| !own_ancestry.contains(&process.pid))
            .filter(|process| !self.ancestry_of(process.pid).any(|pid| self.helper_pids.contains(&pid)))
    }

    /// Returns a process and its ancestors. A snapshot taken while processes start and exit may contain a cycle, so the
    /// length is limited to the number of processes.
    fn ancestry_of(&self, pid: Pid) -> impl Iterator<Item = Pid> {
        std::iter::successors(Some(pid), |pid| self.processes.get(pid)?.parent_pid).take(self.processes.len())
    }

    /// Returns whether the process is an orphan of one of ralph's jobs: a child of ralph in another session, which only
    /// happens when both its supervisor and the keeper have died. Children older than the keeper belong to the process
    /// that started ralph.
    fn is_own_orphan(&self, process: &ProcessSnapshot) -> bool {
        process.parent_pid == Some(self.own_pid)
            && process.session_id != self.own_session_id
            && helper_pids::keeper_start_time().is_some_and(|since| process.start_ticks >= since)
    }
}
