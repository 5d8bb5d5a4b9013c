//! The supervisors of a keeper: reaps each of them, and kills the orphans of a supervisor that was killed.
//! The keeper adopts orphans, so each of its children is either a supervisor or an orphan.

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, WaitStatus, kill_process};

use crate::job::job_completion::TreeCleanup;
use crate::keeper::spare_supervisor::{BusySupervisor, SpareSupervisor, SupervisorNotice};
use crate::processes::process_snapshot::ProcessSnapshot;
use crate::processes::process_tree::{
    KillProgress, RemainingChildren, TreeKiller, living_descendants_except, reap_dead_children,
};
use crate::protocol::messages::{LaunchStep, SupervisorReport};
use crate::unix::child_exit_notifier::ChildExitNotifier;
use crate::unix::fds::{JobFds, close_inherited_copy};

/// How many supervisors may wait for a job. More of them exit.
const MAX_SPARES: usize = 8;

#[derive(Default)]
pub(crate) struct Supervisors {
    /// Supervisors with a job that are not reaped yet.
    active: HashMap<Pid, ActiveSupervisor>,
    /// The control sockets of killed supervisors: ralph still waits there for the final report.
    orphaned_channels: Vec<UnixStream>,
    /// The supervisors that wait for a job; the last one gets the next.
    spares: Vec<SpareSupervisor>,
}

struct ActiveSupervisor {
    /// `None` once it sends no more notices.
    supervisor: Option<BusySupervisor>,
    /// The keeper's copy of its control socket to ralph.
    control: UnixStream,
}

impl Supervisors {
    /// Forks a supervisor for the next job unless one is waiting. `keeper_fds` are closed in the child.
    pub(crate) fn prefork_next(&mut self, keeper_fds: &[BorrowedFd<'_>]) {
        if self.spares.is_empty() {
            self.spares.extend(self.fork_supervisor(keeper_fds, None).ok());
        }
    }

    /// Assigns a job to a waiting supervisor, or to a new one if there is none.
    pub(crate) fn assign_job(&mut self, job: JobFds, keeper_fds: &[BorrowedFd<'_>]) {
        let assigned = match self.assign_to_spare(&job) {
            Some(supervisor) => Ok(supervisor),
            None => self.fork_supervisor(keeper_fds, Some(&job)).and_then(|supervisor| supervisor.assign_job(&job)),
        };
        // Close the pipe ends: the next supervisor must not inherit them, or ralph would never see the end of the
        // output.
        let mut control = job.into_control();
        match assigned {
            Ok(supervisor) => {
                self.active.insert(supervisor.pid(), ActiveSupervisor { supervisor: Some(supervisor), control });
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = control
                    .write_all(&SupervisorReport::LaunchFailed { step: LaunchStep::CreateProcess, errno }.encode());
            }
        }
    }

    /// Returns `None` if no supervisor was waiting, or all of them were killed.
    fn assign_to_spare(&mut self, job: &JobFds) -> Option<BusySupervisor> {
        while let Some(spare) = self.spares.pop() {
            if let Ok(supervisor) = spare.assign_job(job) {
                return Some(supervisor);
            }
        }
        None
    }

    /// Returns the supervisors whose notices are awaited, with their sockets.
    pub(crate) fn notice_sockets(&self) -> Vec<(Pid, BorrowedFd<'_>)> {
        let busy = self.active.iter().filter_map(|(pid, active)| Some((*pid, active.supervisor.as_ref()?.as_fd())));
        busy.collect()
    }

    /// Reads what a supervisor has sent. The next supervisor is forked only when a program was started, so as not to
    /// delay it.
    pub(crate) fn read_notices(&mut self, pid: Pid, keeper_fds: &[BorrowedFd<'_>]) {
        let Some(active) = self.active.get_mut(&pid) else { return };
        let Some(notices) = active.supervisor.as_mut().and_then(BusySupervisor::read_notices) else {
            active.supervisor = None;
            return;
        };
        if notices.contains(&SupervisorNotice::Free) {
            self.keep_as_spare(pid);
        } else if notices.contains(&SupervisorNotice::Started) {
            self.prefork_next(keeper_fds);
        }
    }

    /// Lets a supervisor wait for its next job; it exits if enough others wait.
    fn keep_as_spare(&mut self, pid: Pid) {
        let freed = self.active.remove(&pid).and_then(|active| active.supervisor);
        self.spares.extend(freed.filter(|_| self.spares.len() < MAX_SPARES).map(BusySupervisor::into_spare));
    }

    /// Closes the sockets of the keeper and of other supervisors in the child: copies would hide a death from ralph, or
    /// that of the keeper from the other supervisors. The same for a job that is waiting: a supervisor with copies of its
    /// pipes would hide the end of its output.
    fn fork_supervisor(&self, keeper_fds: &[BorrowedFd<'_>], job: Option<&JobFds>) -> io::Result<SpareSupervisor> {
        SpareSupervisor::fork(|| {
            keeper_fds.iter().copied().for_each(close_inherited_copy);
            if let Some(JobFds { control, stdin, stdout, stderr }) = job {
                [control.as_fd(), stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]
                    .into_iter()
                    .for_each(close_inherited_copy);
            }
            let controls = self.active.values().map(|active| &active.control).chain(&self.orphaned_channels);
            controls.for_each(|channel| close_inherited_copy(channel.as_fd()));
            let busy = self.active.values().filter_map(|active| active.supervisor.as_ref());
            busy.for_each(|supervisor| close_inherited_copy(supervisor.as_fd()));
            self.spares.iter().for_each(|spare| close_inherited_copy(spare.as_fd()));
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
        // Without their keeper they exit, after their job if they have one.
        self.spares.clear();
        self.active.values_mut().for_each(|active| active.supervisor = None);
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
        living_descendants_except(|pid| self.active.contains_key(&pid) || self.is_spare(pid))
    }

    fn is_spare(&self, pid: Pid) -> bool {
        self.spares.iter().any(|supervisor| supervisor.pid() == pid)
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
        self.spares.retain(|supervisor| supervisor.pid() != pid);
        let active = self.active.remove(&pid);
        if status.exit_status() != Some(0) {
            self.orphaned_channels.extend(active.map(|active| active.control));
        }
    }
}

/// The result of reaping dead children.
struct ReapedChildren {
    remaining: RemainingChildren,
    any_reaped: bool,
}
