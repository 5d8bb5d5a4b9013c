//! The worker that runs tasks in this process.
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ralph_app::error::{AppError, AppResult};
use ralph_app::run::ControlSource;
use ralph_app::work::{PreparedWork, WorkObserver, WorkSummary};

use super::LoopDriver;
use super::task_deferrals::DeferralObserver;

/// Under this name the worker receives signals. No run has such an id.
const WORKER_CHANNEL: &str = "worker";

/// Receives the result of the worker when it has stopped. The server continues without it.
pub type WorkResultReporter = Box<dyn FnOnce(AppResult<WorkSummary>) + Send>;

/// Shows what a worker does to the person who has started the server.
pub struct WorkerScreen {
    pub observer: Arc<dyn WorkObserver>,
    pub when_ended: WorkResultReporter,
}

impl LoopDriver {
    /// Starts a worker that leases tasks until it has no more work or a signal stops it. A process has one worker.
    pub(crate) async fn start_worker(
        &self,
        mut prepared: PreparedWork,
        when_ended: WorkResultReporter,
    ) -> AppResult<()> {
        let control = self.active.open_new_channel(WORKER_CHANNEL);
        let control = control.ok_or_else(|| AppError::preflight("a worker of this server runs already"))?;
        // The channel is open: a stop from now on reaches it.
        if self.is_stopping.load(Ordering::Acquire) {
            self.active.close_channel(WORKER_CHANNEL);
            return Err(AppError::preflight("the server stops"));
        }
        self.deferrals.clear();
        let deferrals = Arc::clone(&self.deferrals);
        prepared.wrap_observer(|screen| Arc::new(DeferralObserver { deferrals, screen }));
        let started = match prepared.start(self.keeper.clone()).await {
            Ok(started) => started,
            Err(error) => {
                self.active.close_channel(WORKER_CHANNEL);
                return Err(error);
            }
        };
        Arc::clone(&self.active).spawn(WORKER_CHANNEL.to_owned(), async move {
            let result = match started.run(ControlSource::Channel(control)).await {
                Ok(mut finished) => {
                    let summary = std::mem::take(&mut finished.summary);
                    finished.close().await;
                    Ok(summary)
                }
                Err(error) => Err(error),
            };
            when_ended(result);
        });
        Ok(())
    }
}
