//! Passes the progress of an agent's run to the log and the observer of its workflow run.
use std::sync::Arc;
use std::time::Duration;

use ralph_agents::AgentEvent;
use ralph_core::fact::Fact;
use ralph_engine::run_driver::{JournalPosition, RunObserver};

use crate::workflow_runs::services::RunServices;

pub(super) struct PassObserver {
    pub(super) services: Arc<RunServices>,
    pub(super) node: String,
    /// The iteration limit, if the pass is a loop.
    pub(super) loop_limit: Option<u32>,
}

impl RunObserver for PassObserver {
    /// The other facts of the pass are in its own journal.
    fn on_fact(&mut self, _position: JournalPosition<'_>, fact: &Fact) {
        if let (Fact::IterationStarted { iteration }, Some(max_iterations)) = (fact, self.loop_limit) {
            self.services.announce_iteration(*iteration, max_iterations);
        }
        if let (Fact::AttemptEnded { result, .. }, Some(_)) = (fact, self.loop_limit) {
            self.services.report_output(&result.final_text);
        }
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        self.services.log.write_agent_event(&self.node, event);
        self.services.observer.on_agent_event(&self.node, event);
    }

    fn on_display_line(&mut self, _line: &str) {}

    fn on_stop_grace(&mut self, _grace: Duration) {}

    fn on_limit_wait(&mut self, _left: Duration) {}

    fn on_warning(&mut self, text: &str) {
        self.services.warn(&format!("{}: {text}", self.node));
    }
}
