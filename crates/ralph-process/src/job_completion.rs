//! Tells how and when a job ended, and cleans up where both its supervisor and the keeper were killed.
//! It gives no orders, with one exception: dropped before the end, it has the job killed.

use std::sync::Arc;

use rustix::net::{Shutdown, shutdown};
use rustix::process::{Pid, Signal};
use tokio::task::JoinHandle;

use super::helper_pids;
use super::messages::SupervisorReport;
use super::process_handle::ProcessHandle;
use super::report_stream::ReportStream;
use super::sweep::{SweepResult, sweep_after_deaths};

/// How the program itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobExit {
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
pub struct TreeCleanup {
    /// Processes that had to be killed with SIGKILL, the program itself included.
    pub killed: u32,
    /// Processes that could not be killed and live on.
    pub leaked: Vec<LeakedProcess>,
}

/// A process that could not be killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeakedProcess {
    pub pid: u32,
    pub name: String,
}

/// The end of one job. Both questions may be asked again and again, before and after the end, and be cancelled.
///
/// Dropping it before the job is gone kills the job: nobody would be left to notice its end.
pub struct JobCompletion {
    reports: ReportStream,
    supervisor: SupervisorHandle,
    run_id: String,
    progress: CompletionState,
}

/// The process that answers for a job.
pub(super) struct SupervisorHandle {
    pub(super) pid: Pid,
    pub(super) handle: Arc<ProcessHandle>,
}

enum CompletionState {
    Running,
    Exited(JobExit),
    Sweeping(JobExit, JoinHandle<SweepResult>),
    Gone(JobExit, TreeCleanup),
}

impl JobCompletion {
    pub(super) fn new(reports: ReportStream, supervisor: SupervisorHandle, run_id: String) -> JobCompletion {
        helper_pids::register_helper(supervisor.pid);
        JobCompletion { reports, supervisor, run_id, progress: CompletionState::Running }
    }

    /// Waits until the program itself has ended. Its descendants may live on for a moment.
    pub async fn wait_for_exit(&mut self) -> JobExit {
        loop {
            match self.progress {
                CompletionState::Running => self.advance_state().await,
                CompletionState::Exited(exit) | CompletionState::Sweeping(exit, _) | CompletionState::Gone(exit, _) => {
                    return exit;
                }
            }
        }
    }

    /// Waits until the program and every descendant are gone, or reported as leaked.
    pub async fn wait_until_gone(&mut self) -> TreeCleanup {
        loop {
            match &self.progress {
                CompletionState::Gone(_, gone) => return gone.clone(),
                CompletionState::Running | CompletionState::Exited(_) | CompletionState::Sweeping(..) => {
                    self.advance_state().await;
                }
            }
        }
    }

    async fn advance_state(&mut self) {
        match &mut self.progress {
            CompletionState::Running | CompletionState::Exited(_) => {
                match self.reports.next_from_supervisor(&self.supervisor.handle).await {
                    Some(report) => self.apply_report(report),
                    None => self.sweep_orphans(),
                }
            }
            CompletionState::Sweeping(exit, sweeping) => {
                let exit = *exit;
                // A sweep cannot panic; should it ever, it found nothing.
                let swept = sweeping.await.unwrap_or(SweepResult { killed: 0, leaked: Vec::new() });
                self.progress = CompletionState::Gone(exit, TreeCleanup { killed: swept.killed, leaked: swept.leaked });
            }
            CompletionState::Gone(..) => {}
        }
    }

    fn apply_report(&mut self, report: SupervisorReport) {
        match report {
            SupervisorReport::Exited(exit) => self.progress = CompletionState::Exited(exit),
            SupervisorReport::TreeGone(gone) => {
                helper_pids::unregister_helper(self.supervisor.pid);
                self.progress = CompletionState::Gone(self.known_exit(), gone);
            }
            // Said before this job existed for us.
            SupervisorReport::Ready { .. }
            | SupervisorReport::Started { .. }
            | SupervisorReport::LaunchFailed { .. } => {}
        }
    }

    /// Waits for a program that may or may not run yet. `None` means that supervisor and keeper died before they
    /// could tell.
    pub(super) async fn wait_for_first_report(&mut self) -> Option<SupervisorReport> {
        let report = self.reports.next_from_supervisor(&self.supervisor.handle).await;
        if report.is_none() {
            self.sweep_orphans();
            self.wait_until_gone().await;
        }
        report
    }

    /// The line ended without a last word: supervisor and keeper were killed, and their orphans are ours.
    fn sweep_orphans(&mut self) {
        helper_pids::unregister_helper(self.supervisor.pid);
        let dead = [self.supervisor.pid, self.reports.keeper().pid()];
        let run_id = self.run_id.clone();
        let sweeping = tokio::task::spawn_blocking(move || sweep_after_deaths(dead, &run_id));
        self.progress = CompletionState::Sweeping(self.known_exit(), sweeping);
    }

    fn known_exit(&self) -> JobExit {
        match self.progress {
            CompletionState::Running => JobExit::SupervisorDied,
            CompletionState::Exited(exit) | CompletionState::Sweeping(exit, _) | CompletionState::Gone(exit, _) => exit,
        }
    }
}

impl Drop for JobCompletion {
    fn drop(&mut self) {
        helper_pids::unregister_helper(self.supervisor.pid);
        // A control handle may keep the socket open, so closing our copy would not be heard.
        let _ = shutdown(&**self.reports.socket(), Shutdown::Write);
        let _ = self.supervisor.handle.send_signal(Signal::CONT);
    }
}
