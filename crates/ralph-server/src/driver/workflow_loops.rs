//! Starts and resumes workflow runs in this process.
use std::future::Future;
use std::sync::Arc;

use ralph_app::config::Settings;
use ralph_app::error::{AppError, AppResult};
use ralph_app::interaction::NoInteraction;
use ralph_app::run::ControlSource;
use ralph_app::view::short_id;
use ralph_app::workflow_runs::{
    FinishedWorkflow, FoundWorkflowRun, PreparedWorkflow, WorkflowObserver, WorkflowProcess, find_root_run,
    find_workflow_run, resume_workflow_run, run_workflow,
};
use tokio::sync::oneshot;

use super::LoopDriver;
use super::active_loops::ControlReceiver;
use super::loop_records::RecordedLoop;
use super::started_loop::StartedLoop;

impl LoopDriver {
    /// Starts a workflow run, and returns its id. `when_ended` gets its result.
    pub(crate) fn start_workflow<W: Future<Output = ()> + Send>(
        self: &Arc<Self>,
        prepared: PreparedWorkflow,
        settings: Settings,
        observer: Arc<dyn WorkflowObserver>,
        when_ended: impl FnOnce(AppResult<FinishedWorkflow>) -> W + Send + 'static,
    ) -> AppResult<String> {
        let recorded = RecordedLoop::workflow(&prepared.run);
        let process = self.workflow_process(&recorded, self.open_channel(&recorded)?, settings, observer);
        let (driver, id) = (Arc::clone(self), recorded.run.clone());
        self.active.spawn(id.clone(), async move {
            let ended = run_workflow(prepared, process).await;
            driver.forget_ended(&recorded);
            when_ended(ended).await;
        });
        Ok(id)
    }

    /// Like [`Self::start_workflow`]; returns when the run is stored, or why it could not start.
    pub(crate) async fn start_stored_workflow(
        self: &Arc<Self>,
        prepared: PreparedWorkflow,
        settings: Settings,
        observer: Arc<dyn WorkflowObserver>,
    ) -> AppResult<String> {
        let (report, ended) = oneshot::channel();
        let when_ended = async |result: AppResult<FinishedWorkflow>| {
            // Without a receiver, the run was stored long ago.
            drop(report.send(result.map(drop)));
        };
        let id = self.start_workflow(prepared, settings, observer, when_ended)?;
        StartedLoop::Workflow { id: &id }.wait_until_stored(&self.project, ended).await?;
        Ok(id)
    }

    /// Resumes a workflow run that no process drives, and returns its id: that of the run that has started it, if another run has.
    pub(crate) async fn resume_stored_workflow(
        self: &Arc<Self>,
        part: &str,
        settings: Settings,
        observer: Arc<dyn WorkflowObserver>,
    ) -> AppResult<String> {
        let FoundWorkflowRun { store, run } = find_workflow_run(&self.project, Some(part)).await?;
        let run = find_root_run(&store, run).await?;
        if run.ended_at.is_some() && run.status != "failed" {
            return Err(AppError::preflight(format!("workflow run {} has ended: {}", short_id(&run.id), run.status)));
        }
        let recorded = RecordedLoop::workflow(&run.id);
        let process = self.workflow_process(&recorded, self.open_channel(&recorded)?, settings, observer);
        let (report, ended) = oneshot::channel();
        let (driver, id, fence) = (Arc::clone(self), run.id.clone(), run.fence);
        let project = self.project.clone();
        self.active.spawn(id.clone(), async move {
            let result = resume_workflow_run(&project, run, store, process).await;
            driver.forget_ended(&recorded);
            // Without a receiver, the run was resumed long ago.
            drop(report.send(result.map(drop)));
        });
        StartedLoop::ResumedWorkflow { id: &id, fence }.wait_until_stored(&self.project, ended).await?;
        Ok(id)
    }

    /// Returns what drives a workflow run. Its messages reach the conversation that has started it.
    fn workflow_process(
        &self,
        recorded: &RecordedLoop,
        channel: ControlReceiver,
        settings: Settings,
        observer: Arc<dyn WorkflowObserver>,
    ) -> WorkflowProcess {
        WorkflowProcess {
            settings,
            config: self.config.clone(),
            keeper: self.keeper.clone(),
            control: ControlSource::Channel(channel),
            person: Box::new(NoInteraction),
            observer: self.conversations.observe(&recorded.run, observer),
            startup: None,
        }
    }
}
