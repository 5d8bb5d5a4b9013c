//! Waits for the end of a job, and cleans up if both its supervisor and the keeper were killed.
//! Dropping it before the end kills the job.

use std::sync::Arc;

use rustix::net::{Shutdown, shutdown};
use rustix::process::{Pid, Signal};
use tokio::task::JoinHandle;

use crate::job::report_stream::ReportStream;
use crate::keeper::helper_pids::HelperRegistration;
use crate::processes::kill_run_processes::{SweepResult, sweep_after_deaths};
use crate::processes::process_handle::ProcessHandle;
use crate::protocol::messages::SupervisorReport;

/// How the program of a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobExit {
    Code(i32),
    Signal(i32),
    /// The supervisor was killed, so the program's exit is unknown. The rest of the job is killed.
    SupervisorDied,
    /// The tree was killed because it used more memory than [`JobSpec::memory_limit`](crate::JobSpec::memory_limit); in
    /// bytes.
    OverMemory {
        used: u64,
        limit: u64,
    },
}

/// How the process tree of a job was cleaned up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCleanup {
    /// The number of processes killed with SIGKILL, including the program itself.
    pub killed: u32,
    /// Processes that survived SIGKILL.
    pub leaked: Vec<LeakedProcess>,
}

/// A process that could not be killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeakedProcess {
    pub pid: u32,
    pub name: String,
}

/// Waits for the end of one job. Both methods may be called repeatedly, before and after the end, and are cancel-safe.
///
/// Dropping it before the job is gone kills the job.
pub struct JobCompletion {
    reports: ReportStream,
    supervisor: SupervisorHandle,
    run_id: String,
    progress: CompletionState,
    /// Until the tree is gone.
    registration: Option<HelperRegistration>,
}

/// The supervisor process of a job.
pub(crate) struct SupervisorHandle {
    pub(crate) pid: Pid,
    pub(crate) handle: Arc<ProcessHandle>,
}

enum CompletionState {
    Running,
    Exited(JobExit),
    Sweeping(JobExit, JoinHandle<SweepResult>),
    Gone(JobExit, TreeCleanup),
}

impl JobCompletion {
    pub(crate) fn new(reports: ReportStream, supervisor: SupervisorHandle, run_id: String) -> JobCompletion {
        let registration = Some(HelperRegistration::register(supervisor.pid));
        JobCompletion { reports, supervisor, run_id, progress: CompletionState::Running, registration }
    }

    /// Waits until the program itself has exited. Its descendants may still be alive.
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
                CompletionState::Gone(_, cleanup) => return cleanup.clone(),
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
                // A sweep does not panic; if it ever did, report that it found nothing.
                let swept = sweeping.await.unwrap_or(SweepResult { killed: 0, leaked: Vec::new() });
                self.progress = CompletionState::Gone(exit, TreeCleanup { killed: swept.killed, leaked: swept.leaked });
            }
            CompletionState::Gone(..) => {}
        }
    }

    fn apply_report(&mut self, report: SupervisorReport) {
        match report {
            SupervisorReport::Exited(exit) => self.progress = CompletionState::Exited(exit),
            SupervisorReport::TreeGone(cleanup) => {
                self.registration = None;
                self.progress = CompletionState::Gone(self.known_exit(), cleanup);
            }
            // Read before this value was created.
            SupervisorReport::Ready { .. }
            | SupervisorReport::Started { .. }
            | SupervisorReport::LaunchFailed { .. } => {}
        }
    }

    /// Waits for the report whether the program was started. Returns `None` if supervisor and keeper died before they
    /// sent it.
    pub(crate) async fn wait_for_first_report(&mut self) -> Option<SupervisorReport> {
        let report = self.reports.next_from_supervisor(&self.supervisor.handle).await;
        if report.is_none() {
            self.sweep_orphans();
            self.wait_until_gone().await;
        }
        report
    }

    /// Starts a sweep. The socket was closed without a final report, so supervisor and keeper were killed and ralph has
    /// adopted their orphans.
    fn sweep_orphans(&mut self) {
        self.registration = None;
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
        // A `JobControl` may keep the socket open, so closing this copy would not reach the supervisor.
        let _ = shutdown(&**self.reports.socket(), Shutdown::Write);
        let _ = self.supervisor.handle.send_signal(Signal::CONT);
    }
}
