//! Resumes the loops that an earlier server of this project drove, and runs whose long wait is over.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ralph_app::error::AppResult;
use ralph_app::interaction::NoInteraction;
use ralph_app::run::{PreparedResume, ResumeRequest, find_run, parked_until, prepare_resume, sleep_until_wall_clock};
use ralph_app::workflow_runs::find_workflow_run;
use ralph_engine::run_driver::OutputVisibility;
use tokio::runtime::Handle;

use super::loop_records::{LoopKind, RecordedLoop};
use super::{LoopDriver, QuietObserver};

/// How long a run whose wait is over waits for the next try, for example if the database is busy.
const WAKE_RETRY_DELAY: Duration = Duration::from_secs(10);

impl LoopDriver {
    /// Resumes what an earlier server drove, once: another process that drives a loop has its lock. Loops that a person has
    /// paused stay paused.
    pub(crate) async fn resume_recorded_loops(self: &Arc<Self>) {
        for recorded in self.records.list() {
            let resumed = match recorded.kind {
                LoopKind::Run => self.resume_recorded_run(&recorded.run).await,
                LoopKind::Workflow => self.resume_recorded_workflow(&recorded.run).await,
            };
            if let Ok(RecordState::Outdated) = resumed {
                self.records.remove_all(&recorded);
            }
        }
    }

    async fn resume_recorded_run(self: &Arc<Self>, run: &str) -> AppResult<RecordState> {
        let found = find_run(&self.project, Some(run)).await?;
        let state = found.store.load_run(&found.run.id).await?.state;
        // A paused run that is stopped with its server is stored as interrupted.
        let pauses = found.store.events_of_kinds(&found.run.id, ["run.paused", "run.resumed"]).await?;
        found.store.close().await;
        if !state.can_resume() {
            return Ok(RecordState::Outdated);
        }
        if pauses.last().is_some_and(|last| last.body.starts_with("{\"event\":\"run.paused\"")) {
            return Ok(RecordState::Current);
        }
        if state.parked_until().is_some() {
            self.resume_after_wait(run.to_owned());
            return Ok(RecordState::Current);
        }
        self.resume_run_by_id(run).await.map(|()| RecordState::Current)
    }

    /// Resumes a run that no process drives. Does nothing if it has ended.
    async fn resume_run_by_id(self: &Arc<Self>, run: &str) -> AppResult<()> {
        let request =
            ResumeRequest { config: &self.config, visibility: OutputVisibility::Shown, person: &NoInteraction };
        match prepare_resume(&self.project, Some(run), &request).await? {
            PreparedResume::Resumable(run) => self.resume_run(*run).await.map(drop),
            PreparedResume::NotNeeded(_) => Ok(()),
        }
    }

    /// Waits for the end of a long wait, and resumes the run unless another process has done so.
    pub(super) fn resume_after_wait(self: &Arc<Self>, run: String) {
        let driver = Arc::clone(self);
        tokio::spawn(async move {
            while !driver.is_stopping.load(Ordering::Acquire) && !driver.wake_parked_run(&run).await {
                tokio::time::sleep(WAKE_RETRY_DELAY).await;
            }
        });
    }

    /// Waits for the end of a wait, and resumes the run. Returns whether it needs no more attention of this server.
    async fn wake_parked_run(self: &Arc<Self>, run: &str) -> bool {
        let until = match parked_until(&self.project, run).await {
            Ok(Some(until)) => until,
            Ok(None) => return true,
            Err(_) => return false,
        };
        sleep_until_wall_clock(until).await;
        // A person may have resumed it meanwhile, and it may wait again.
        if !matches!(parked_until(&self.project, run).await, Ok(Some(now)) if now == until) {
            return false;
        }
        let (runtime, driver, id) = (Handle::current(), Arc::clone(self), run.to_owned());
        // The preparation may block.
        let resumed = tokio::task::spawn_blocking(move || runtime.block_on(driver.resume_run_by_id(&id)));
        matches!(resumed.await, Ok(Ok(())))
    }

    async fn resume_recorded_workflow(self: &Arc<Self>, run: &str) -> AppResult<RecordState> {
        let found = find_workflow_run(&self.project, Some(run)).await?;
        let status = found.run.status.clone();
        found.store.close().await;
        match status.as_str() {
            "interrupted" => {
                let settings = self.config.load_settings(Some(&self.project))?;
                self.resume_stored_workflow(run, settings, Arc::new(QuietObserver)).await?;
                Ok(RecordState::Current)
            }
            // It waits for a person, or another process drives it.
            "waiting" | "running" | "paused" => Ok(RecordState::Current),
            _ => Ok(RecordState::Outdated),
        }
    }
}

/// Whether the record of a loop is still needed.
enum RecordState {
    Current,
    /// The loop has ended.
    Outdated,
}

impl RecordedLoop {
    pub(super) fn run(id: &str) -> Self {
        Self { kind: LoopKind::Run, run: id.to_owned() }
    }

    pub(super) fn workflow(id: &str) -> Self {
        Self { kind: LoopKind::Workflow, run: id.to_owned() }
    }
}
