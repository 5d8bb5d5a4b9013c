//! The supervisors of a keeper: reaps each of them, and kills the orphans of a supervisor that was killed.
//! The keeper adopts orphans, so each of its children is either a supervisor or an orphan.

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, WaitStatus, kill_process};

use crate::job::job_completion::TreeCleanup;
use crate::keeper::preforked_supervisor::{AssignedSupervisor, PreforkedSupervisor};
use crate::processes::process_snapshot::ProcessSnapshot;
use crate::processes::process_tree::{
    KillProgress, RemainingChildren, TreeKiller, living_descendants_except, reap_dead_children,
};
use crate::protocol::messages::{LaunchStep, SupervisorReport};
use crate::unix::child_exit_notifier::ChildExitNotifier;
use crate::unix::fds::{JobFds, close_inherited_copy};

#[derive(Default)]
pub(crate) struct Supervisors {
    /// Supervisors that are not reaped yet, each with the keeper's copy of its control socket to ralph.
    active: HashMap<Pid, UnixStream>,
    /// The control sockets of killed supervisors: ralph still waits there for the final report.
    orphaned_channels: Vec<UnixStream>,
    /// The supervisor that waits for the next job.
    preforked: Option<PreforkedSupervisor>,
    /// Closes when the newest job was started. The next supervisor is forked only then, so as not to delay the job.
    starting_channel: Option<UnixStream>,
}

impl Supervisors {
    /// Forks a supervisor for the next job unless one is waiting. `keeper_fds` are closed in the child.
    pub(crate) fn prefork_next(&mut self, keeper_fds: &[BorrowedFd<'_>]) {
        self.starting_channel = None;
        if self.preforked.is_none() {
            self.preforked = self.fork_supervisor(keeper_fds).ok();
        }
    }

    /// Assigns a job to the waiting supervisor, or to a new one if there is none.
    pub(crate) fn assign_job(&mut self, job: JobFds, keeper_fds: &[BorrowedFd<'_>]) {
        let assigned = match self.preforked.take().map(|supervisor| supervisor.assign_job(&job)) {
            Some(Ok(supervisor)) => Ok(supervisor),
            // No supervisor was waiting, or it was killed.
            Some(Err(_)) | None => self.fork_supervisor(keeper_fds).and_then(|supervisor| supervisor.assign_job(&job)),
        };
        // Close the pipe ends: the next supervisor must not inherit them, or ralph would never see the end of the
        // output.
        let mut control = job.into_control();
        match assigned {
            Ok(AssignedSupervisor { supervisor, startup_channel }) => {
                self.active.insert(supervisor, control);
                self.starting_channel = Some(startup_channel);
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = control
                    .write_all(&SupervisorReport::LaunchFailed { step: LaunchStep::CreateProcess, errno }.encode());
            }
        }
    }

    /// Returns the channel that closes when the newest job was started; [`prefork_next`](Self::prefork_next) is due
    /// then.
    pub(crate) fn starting_channel(&self) -> Option<&UnixStream> {
        self.starting_channel.as_ref()
    }

    /// Closes the sockets of the keeper and of other supervisors in the child: copies would hide a death from ralph.
    fn fork_supervisor(&self, keeper_fds: &[BorrowedFd<'_>]) -> io::Result<PreforkedSupervisor> {
        PreforkedSupervisor::fork(|| {
            keeper_fds.iter().copied().for_each(close_inherited_copy);
            let channels = self.active.values().chain(&self.orphaned_channels).chain(&self.starting_channel);
            channels.for_each(|channel| close_inherited_copy(channel.as_fd()));
        })
    }

    /// Reaps supervisors that have exited. If one was killed, kills its orphans and reports that to ralph.
    pub(crate) fn reap_dead_supervisors(&mut self, exit_notifier: &ChildExitNotifier) {
        self.reap_children();
        if self.orphaned_channels.is_empty() {
            return;
        }
        let mut cleanup = self.kill_orphans(exit_notifier);
        for mut channel in std::mem::take(&mut self.orphaned_channels) {
            let _ = channel.write_all(&SupervisorReport::TreeGone(cleanup).encode());
            // It is unknown which orphan belonged to which supervisor, so the first report counts all of them.
            cleanup = TreeCleanup { killed: 0, leaked: Vec::new() };
        }
    }

    /// Called when ralph is gone: waits until the supervisors have cleaned up, and kills the orphans of killed ones.
    pub(crate) fn wait_for_all(mut self, exit_notifier: &ChildExitNotifier) {
        let mut killer = TreeKiller::start();
        // Closing its channel makes it exit.
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

    /// Continues the supervisors: one that its agent has stopped would not notice that ralph is gone.
    fn continue_stopped(&self) {
        for supervisor in self.active.keys() {
            // It is not reaped yet, so its pid cannot have been reused.
            let _ = kill_process(*supervisor, Signal::CONT);
        }
    }

    fn kill_orphans(&mut self, exit_notifier: &ChildExitNotifier) -> TreeCleanup {
        let mut killer = TreeKiller::start();
        loop {
            let orphans = self.living_orphans();
            // A process that died during the listing may have left children that the listing missed.
            let must_list_again = self.reap_children().any_reaped;
            if orphans.is_empty() && !must_list_again {
                return killer.to_cleanup(orphans);
            }
            match killer.kill_new(orphans) {
                KillProgress::Finished(cleanup) => return cleanup,
                KillProgress::Dying if !must_list_again => exit_notifier.wait_briefly(),
                KillProgress::FoundMore | KillProgress::Dying => {}
            }
        }
    }

    fn living_orphans(&self) -> Vec<ProcessSnapshot> {
        living_descendants_except(|pid| self.active.contains_key(&pid) || self.is_preforked(pid))
    }

    fn is_preforked(&self, pid: Pid) -> bool {
        self.preforked.as_ref().is_some_and(|supervisor| supervisor.pid() == pid)
    }

    fn reap_children(&mut self) -> ReapedChildren {
        let mut any_reaped = false;
        let remaining = reap_dead_children(|pid, status| {
            any_reaped = true;
            self.record_exit(pid, status);
        });
        ReapedChildren { remaining, any_reaped }
    }

    /// Keeps the channel of a killed supervisor. A supervisor that exited with code 0 has sent its final report.
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

/// The result of reaping dead children.
struct ReapedChildren {
    remaining: RemainingChildren,
    any_reaped: bool,
}
