//! Guidance of a person for the next agent of a workflow run.
use ralph_engine::run_driver::Clock;

use super::ActivityRunner;
use super::agent_pass::PassRequest;
use crate::error::AppResult;
use crate::workflow_runs::orders::{WorkflowOrder, open_orders};

impl ActivityRunner {
    /// Adds the guidance that no agent has got to the prompt. Of two agents that start at the same time, one gets it.
    pub(super) async fn add_guidance<'a>(&self, request: PassRequest<'a>) -> AppResult<PassRequest<'a>> {
        let host = &self.services.host;
        let mut prompt = request.prompt;
        for open in open_orders(&host.store, &host.root).await? {
            let WorkflowOrder::Guide { text } = open.order else { continue };
            if host.store.take_workflow_answer(&host.root, &open.name, Clock::wall_now()).await? {
                self.services.announce(&format!("{}: the prompt has guidance of {}", request.ready.node, open.person));
                prompt = format!("{}\n\n## Guidance from a person\n\n{text}\n", prompt.trim_end());
            }
        }
        Ok(PassRequest { prompt, ..request })
    }
}
