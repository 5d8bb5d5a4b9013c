//! Waits until a loop that was started is stored, so that the next request finds it.
use std::time::Duration;

use ralph_app::error::AppResult;
use ralph_app::run::open_existing_store;
use ralph_engine::project::Project;
use tokio::sync::oneshot;

/// How often a starting loop is looked up.
const START_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A loop that was started.
#[derive(Debug, Clone, Copy)]
pub(super) enum StartedLoop<'a> {
    Run {
        id: &'a str,
    },
    Workflow {
        id: &'a str,
    },
    /// A workflow run that had this fence before it was resumed.
    ResumedWorkflow {
        id: &'a str,
        fence: i64,
    },
}

impl StartedLoop<'_> {
    /// Waits until the loop is stored. Fails if it ends before, with the reason.
    pub(super) async fn wait_until_stored(
        self,
        project: &Project,
        mut ended: oneshot::Receiver<AppResult<()>>,
    ) -> AppResult<()> {
        while !self.is_stored(project).await? {
            tokio::select! {
                // It was stored and has ended, or could not start.
                result = &mut ended => return result.unwrap_or(Ok(())),
                () = tokio::time::sleep(START_POLL_INTERVAL) => {}
            }
        }
        Ok(())
    }

    async fn is_stored(self, project: &Project) -> AppResult<bool> {
        let Some(store) = open_existing_store(project).await? else { return Ok(false) };
        let is_stored = match self {
            Self::Run { id } => store.stored_fact_count(id).await?.is_some(),
            Self::Workflow { id } => store.workflow_run(id).await?.is_some(),
            Self::ResumedWorkflow { id, fence } => store.workflow_run(id).await?.is_some_and(|run| run.fence != fence),
        };
        store.close().await;
        Ok(is_stored)
    }
}
