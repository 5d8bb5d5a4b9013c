//! Finds, signals, reaps and kills the descendants of a supervisor, and the orphans of a keeper.
//! Every orphan is adopted, so a process without children has no descendants either.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, test_kill_process_group, wait,
};

use crate::job::job_completion::{JobExit, LeakedProcess, TreeCleanup};
use crate::processes::process_snapshot::ProcessSnapshot;
use crate::unix::platform;

/// How long a process may survive SIGKILL before it is reported as leaked.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the tree is polled while no event arrives.
pub(crate) const TREE_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The descendants of this process. `root_pid` is the leader of the job's process group.
pub(crate) struct ProcessTree {
    root_pid: Pid,
    root_exit: Option<JobExit>,
}

/// Whether children remain after reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemainingChildren {
    NoneLeft,
    SomeLeft,
}

impl ProcessTree {
    pub(crate) fn new(root_pid: Pid) -> ProcessTree {
        ProcessTree { root_pid, root_exit: None }
    }

    /// Returns the exit of the root process, if it has been reaped.
    pub(crate) fn root_exit(&self) -> Option<JobExit> {
        self.root_exit
    }

    /// Reaps every dead child without blocking.
    pub(crate) fn reap_children(&mut self) -> RemainingChildren {
        reap_dead_children(|pid, status| self.record_exit(pid, status))
    }

    fn record_exit(&mut self, pid: Pid, status: WaitStatus) {
        if pid != self.root_pid {
            return;
        }
        self.root_exit = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(JobExit::Code(code)),
            (None, Some(signal)) => Some(JobExit::Signal(signal)),
            (None, None) => self.root_exit,
        };
    }

    /// Signals the root's process group. Does nothing once the root is reaped, because its pid may have been reused.
    pub(crate) fn signal_group(&self, signal: Signal) {
        if self.root_exit.is_none() {
            let _ = kill_process_group(self.root_pid, signal);
        }
    }

    pub(crate) fn is_group_alive(&self) -> bool {
        test_kill_process_group(self.root_pid).is_ok()
    }

    /// Stops every descendant, parents first. A process with a pending signal cannot fork, so the loop ends with the
    /// first listing that shows no new process.
    pub(crate) fn pause_all(&self) {
        let mut paused = HashSet::new();
        self.signal_group_if_unlisted(Signal::STOP);
        while living_descendants().iter().filter(|process| signal_once(process, Signal::STOP, &mut paused)).count() > 0
        {
        }
    }

    /// Continues every descendant, children first, so that no parent finds a child still stopped.
    pub(crate) fn resume_all(&self) {
        self.signal_group_if_unlisted(Signal::CONT);
        for process in living_descendants().iter().rev() {
            let _ = platform::signal_process(process, Signal::CONT);
        }
    }

    /// Kills the process group on platforms that cannot list processes.
    pub(crate) fn kill_group_if_unlisted(&self) {
        self.signal_group_if_unlisted(Signal::KILL);
    }

    fn signal_group_if_unlisted(&self, signal: Signal) {
        if !platform::CAN_LIST_PROCESSES {
            let _ = kill_process_group(self.root_pid, signal);
        }
    }
}

/// Kills a tree step by step: remembers which processes got SIGKILL, and until when to wait for them.
pub(crate) struct TreeKiller {
    deadline: Instant,
    killed_processes: HashSet<ProcessKey>,
}

/// The state of a kill after one pass over the tree.
pub(crate) enum KillProgress {
    /// The timeout expired; the surviving processes are leaked.
    Finished(TreeCleanup),
    /// New processes were found and signalled. Make another pass at once, because they may have left orphans.
    FoundMore,
    /// All living processes have been signalled. Wait for one to die.
    Dying,
}

impl TreeKiller {
    pub(crate) fn start() -> TreeKiller {
        TreeKiller { deadline: Instant::now() + KILL_TIMEOUT, killed_processes: HashSet::new() }
    }

    /// Sends SIGKILL to each process that has not got it yet.
    pub(crate) fn kill_new(&mut self, living: Vec<ProcessSnapshot>) -> KillProgress {
        let fresh =
            living.iter().filter(|process| signal_once(process, Signal::KILL, &mut self.killed_processes)).count();
        match fresh {
            _ if Instant::now() > self.deadline => KillProgress::Finished(self.to_cleanup(living)),
            0 => KillProgress::Dying,
            _ => KillProgress::FoundMore,
        }
    }

    pub(crate) fn to_cleanup(&self, remaining: Vec<ProcessSnapshot>) -> TreeCleanup {
        TreeCleanup {
            killed: u32::try_from(self.killed_processes.len()).unwrap_or(u32::MAX),
            leaked: to_leaked_processes(remaining),
        }
    }
}

/// Identifies a process even after its pid was reused: pid and start time.
pub(crate) type ProcessKey = (Pid, u64);

/// Signals a process unless it is in `signalled`. Returns whether the signal was sent now.
pub(crate) fn signal_once(process: &ProcessSnapshot, signal: Signal, signalled: &mut HashSet<ProcessKey>) -> bool {
    !signalled.contains(&(process.pid, process.start_ticks))
        && platform::signal_process(process, signal).is_ok()
        && signalled.insert((process.pid, process.start_ticks))
}

pub(crate) fn to_leaked_processes(remaining: Vec<ProcessSnapshot>) -> Vec<LeakedProcess> {
    remaining
        .into_iter()
        .map(|process| LeakedProcess { pid: process.pid.as_raw_pid().cast_unsigned(), name: process.name })
        .collect()
}

/// Reaps every dead child of this process without blocking.
pub(crate) fn reap_dead_children(mut on_exit: impl FnMut(Pid, WaitStatus)) -> RemainingChildren {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => on_exit(pid, status),
            Ok(None) => return RemainingChildren::SomeLeft,
            Err(Errno::INTR) => {}
            Err(_) => return RemainingChildren::NoneLeft,
        }
    }
}

/// Returns the living descendants of this process, parents before their children.
pub(crate) fn living_descendants() -> Vec<ProcessSnapshot> {
    living_descendants_except(|_| false)
}

/// Returns the living descendants without the excluded processes and their descendants.
pub(crate) fn living_descendants_except(is_excluded: impl Fn(Pid) -> bool) -> Vec<ProcessSnapshot> {
    let mut rest = platform::list_processes();
    let mut found: Vec<ProcessSnapshot> = Vec::new();
    let mut parents = HashSet::from([getpid()]);
    while !parents.is_empty() {
        let (mut children, others): (Vec<ProcessSnapshot>, Vec<ProcessSnapshot>) =
            rest.into_iter().partition(|process| process.parent_pid.is_some_and(|parent| parents.contains(&parent)));
        children.retain(|process| !is_excluded(process.pid));
        parents = children.iter().map(|process| process.pid).collect();
        found.extend(children);
        rest = others;
    }
    found.retain(|process| process.is_alive);
    found
}
