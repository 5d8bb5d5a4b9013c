//! The supervisors of a keeper. Each is watched to its end, and whatever a killed one leaves behind is killed.
//! As a keeper adopts orphans, all its children are either supervisors or left behind.

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, WaitStatus, kill_process};

use super::child_exit_notifier::ChildExitNotifier;
use super::fds::{JobFds, close_inherited_copy};
use super::job_completion::TreeCleanup;
use super::messages::{LaunchStep, SupervisorReport};
use super::preforked_supervisor::{AssignedSupervisor, PreforkedSupervisor};
use super::process_snapshot::ProcessSnapshot;
use super::process_tree::{KillProgress, RemainingChildren, TreeKiller, living_descendants_except, reap_dead_children};

#[derive(Default)]
pub(super) struct Supervisors {
    /// Supervisors that live or wait to be reaped, each with its end of the line to ralph.
    active: HashMap<Pid, UnixStream>,
    /// The lines of those that were killed: ralph still waits there for a last word.
    orphaned_channels: Vec<UnixStream>,
    /// The one that waits for the next job.
    preforked: Option<PreforkedSupervisor>,
    /// The line of the one that starts its job: the next spare can wait until that is done.
    starting_channel: Option<UnixStream>,
}

impl Supervisors {
    /// Has a supervisor ready for the next job. `mine` is what only the keeper may hold.
    pub(super) fn prefork_next(&mut self, keeper_fds: &[BorrowedFd<'_>]) {
        self.starting_channel = None;
        if self.preforked.is_none() {
            self.preforked = self.fork_supervisor(keeper_fds).ok();
        }
    }

    /// Gives a job to a supervisor of its own.
    pub(super) fn assign_job(&mut self, job: JobFds, keeper_fds: &[BorrowedFd<'_>]) {
        let assigned = match self.preforked.take().map(|spare| spare.assign_job(&job)) {
            Some(Ok(supervisor)) => Ok(supervisor),
            // There was none, or it was killed while it waited.
            Some(Err(_)) | None => self.fork_supervisor(keeper_fds).and_then(|spare| spare.assign_job(&job)),
        };
        // The next spare must not hold the other ends: the output would never end.
        let mut control = job.into_control();
        match assigned {
            Ok(AssignedSupervisor { supervisor, startup_channel: starting }) => {
                self.active.insert(supervisor, control);
                self.starting_channel = Some(starting);
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = control
                    .write_all(&SupervisorReport::LaunchFailed { step: LaunchStep::CreateProcess, errno }.encode());
            }
        }
    }

    /// Returns the line that ends when there is time to [`prepare`](Self::prepare).
    pub(super) fn starting_channel(&self) -> Option<&UnixStream> {
        self.starting_channel.as_ref()
    }

    /// A supervisor that held a line of the keeper, or another's, would hide a death from ralph.
    fn fork_supervisor(&self, keeper_fds: &[BorrowedFd<'_>]) -> io::Result<PreforkedSupervisor> {
        PreforkedSupervisor::fork(|| {
            keeper_fds.iter().copied().for_each(close_inherited_copy);
            let lines = self.active.values().chain(&self.orphaned_channels).chain(&self.starting_channel);
            lines.for_each(|channel| close_inherited_copy(channel.as_fd()));
        })
    }

    /// Reaps supervisors that have ended. Where one was killed, kills what it answered for and tells ralph.
    pub(super) fn reap_dead_supervisors(&mut self, exit_notifier: &ChildExitNotifier) {
        self.reap_children();
        if self.orphaned_channels.is_empty() {
            return;
        }
        let mut cleanup = self.kill_orphans(exit_notifier);
        for mut channel in std::mem::take(&mut self.orphaned_channels) {
            let _ = channel.write_all(&SupervisorReport::TreeGone(cleanup).encode());
            // Whose they were nobody knows, so the first is told of all.
            cleanup = TreeCleanup { killed: 0, leaked: Vec::new() };
        }
    }

    /// Stays until nothing is left: ralph is gone, the supervisors clean up, and the keeper does it for those that
    /// were killed.
    pub(super) fn wait_for_all(mut self, exit_notifier: &ChildExitNotifier) {
        let mut killer = TreeKiller::start();
        // Without its line it ends, and nobody spares it any more.
        self.preforked = None;
        while self.reap_children().remaining == RemainingChildren::SomeLeft {
            if !self.active.is_empty() {
                self.continue_stopped();
                killer = TreeKiller::start();
            }
            match killer.kill_new(self.living_orphans()) {
                KillProgress::Finished(_) => return,
                KillProgress::FoundMore => {}
                KillProgress::Dying => exit_notifier.wait_briefly(),
            }
        }
    }

    /// A supervisor that its agent has stopped would not notice that ralph is gone.
    fn continue_stopped(&self) {
        for supervisor in self.active.keys() {
            // Not reaped yet, so the number is still its own.
            let _ = kill_process(*supervisor, Signal::CONT);
        }
    }

    fn kill_orphans(&mut self, exit_notifier: &ChildExitNotifier) -> TreeCleanup {
        let mut killer = TreeKiller::start();
        loop {
            let orphans = self.living_orphans();
            // One that died while we looked may have left others where we had looked already.
            let look_again = self.reap_children().any_reaped;
            if orphans.is_empty() && !look_again {
                return killer.to_cleanup(orphans);
            }
            match killer.kill_new(orphans) {
                KillProgress::Finished(gone) => return gone,
                KillProgress::Dying if !look_again => exit_notifier.wait_briefly(),
                KillProgress::FoundMore | KillProgress::Dying => {}
            }
        }
    }

    fn living_orphans(&self) -> Vec<ProcessSnapshot> {
        living_descendants_except(|pid| self.active.contains_key(&pid) || self.is_preforked(pid))
    }

    fn is_preforked(&self, pid: Pid) -> bool {
        self.preforked.as_ref().is_some_and(|spare| spare.pid() == pid)
    }

    fn reap_children(&mut self) -> ReapedChildren {
        let mut someone_died = false;
        let remaining = reap_dead_children(|pid, status| {
            someone_died = true;
            self.record_exit(pid, status);
        });
        ReapedChildren { remaining, any_reaped: someone_died }
    }

    /// A supervisor that ended well has said its last word.
    fn record_exit(&mut self, pid: Pid, status: WaitStatus) {
        if self.is_preforked(pid) {
            self.preforked = None;
        }
        let channel = self.active.remove(&pid);
        if status.exit_status() != Some(0) {
            self.orphaned_channels.extend(channel);
        }
    }
}

/// What was found when the dead were reaped.
struct ReapedChildren {
    remaining: RemainingChildren,
    any_reaped: bool,
}
