//! Tells how and when a job ended, and cleans up where both its supervisor and the keeper were killed.
//! It gives no orders, with one exception: dropped before the end, it has the job killed.

use std::sync::Arc;

use rustix::net::{Shutdown, shutdown};
use rustix::process::{Pid, Signal};
use tokio::task::JoinHandle;

use super::handle::Handle;
use super::message::Report;
use super::own;
use super::reports::Reports;
use super::sweep::{Swept, sweep_after};

/// How the program itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The supervisor was killed, so nobody saw how the program ended. What was left of the job is killed.
    SupervisorDied,
    /// The whole tree was killed for having more memory than [`JobSpec::memory`](super::JobSpec::memory), in bytes.
    OverMemory {
        used: u64,
        limit: u64,
    },
}

/// What became of the whole tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// Processes that had to be killed with SIGKILL, the program itself included.
    pub killed: u32,
    /// Processes that could not be killed and live on.
    pub leaked: Vec<Survivor>,
}

/// A process that could not be killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    pub pid: u32,
    pub name: String,
}

/// The end of one job. Both questions may be asked again and again, before and after the end, and be cancelled.
///
/// Dropping it before the job is gone kills the job: nobody would be left to notice its end.
pub struct Ending {
    reports: Reports,
    supervisor: Supervisor,
    run_id: String,
    progress: Progress,
}

/// The process that answers for a job.
pub(super) struct Supervisor {
    pub(super) pid: Pid,
    pub(super) handle: Arc<Handle>,
}

enum Progress {
    Running,
    Exited(Exit),
    Sweeping(Exit, JoinHandle<Swept>),
    Gone(Exit, Gone),
}

impl Ending {
    pub(super) fn new(reports: Reports, supervisor: Supervisor, run_id: String) -> Ending {
        own::remember(supervisor.pid);
        Ending { reports, supervisor, run_id, progress: Progress::Running }
    }

    /// Waits until the program itself has ended. Its descendants may live on for a moment.
    pub async fn exited(&mut self) -> Exit {
        loop {
            match self.progress {
                Progress::Running => self.advance().await,
                Progress::Exited(exit) | Progress::Sweeping(exit, _) | Progress::Gone(exit, _) => {
                    return exit;
                }
            }
        }
    }

    /// Waits until the program and every descendant are gone, or reported as leaked.
    pub async fn gone(&mut self) -> Gone {
        loop {
            match &self.progress {
                Progress::Gone(_, gone) => return gone.clone(),
                Progress::Running | Progress::Exited(_) | Progress::Sweeping(..) => self.advance().await,
            }
        }
    }

    async fn advance(&mut self) {
        match &mut self.progress {
            Progress::Running | Progress::Exited(_) => {
                match self.reports.next_from(&self.supervisor.handle).await {
                    Some(report) => self.note(report),
                    None => self.mourn(),
                }
            }
            Progress::Sweeping(exit, sweeping) => {
                let exit = *exit;
                // A sweep cannot panic; should it ever, it found nothing.
                let swept = sweeping.await.unwrap_or(Swept { killed: 0, leaked: Vec::new() });
                self.progress = Progress::Gone(exit, Gone { killed: swept.killed, leaked: swept.leaked });
            }
            Progress::Gone(..) => {}
        }
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Exited(exit) => self.progress = Progress::Exited(exit),
            Report::Gone(gone) => {
                own::forget(self.supervisor.pid);
                self.progress = Progress::Gone(self.exit_so_far(), gone);
            }
            // Said before this job existed for us.
            Report::Serving { .. } | Report::Started { .. } | Report::CouldNotStart { .. } => {}
        }
    }

    /// Waits for a program that may or may not run yet. `None` means that supervisor and keeper died before they
    /// could tell.
    pub(super) async fn first_word(&mut self) -> Option<Report> {
        let word = self.reports.next_from(&self.supervisor.handle).await;
        if word.is_none() {
            self.mourn();
            self.gone().await;
        }
        word
    }

    /// The line ended without a last word: supervisor and keeper were killed, and their orphans are ours.
    fn mourn(&mut self) {
        own::forget(self.supervisor.pid);
        let dead = [self.supervisor.pid, self.reports.keeper().pid()];
        let run_id = self.run_id.clone();
        let sweeping = tokio::task::spawn_blocking(move || sweep_after(dead, &run_id));
        self.progress = Progress::Sweeping(self.exit_so_far(), sweeping);
    }

    fn exit_so_far(&self) -> Exit {
        match self.progress {
            Progress::Running => Exit::SupervisorDied,
            Progress::Exited(exit) | Progress::Sweeping(exit, _) | Progress::Gone(exit, _) => exit,
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        own::forget(self.supervisor.pid);
        // A control handle may keep the socket open, so closing our copy would not be heard.
        let _ = shutdown(&**self.reports.socket(), Shutdown::Write);
        let _ = self.supervisor.handle.signal(Signal::CONT);
    }
}
