//! An observer that shows nothing: readers of the server read the journal and the logs.
use std::time::Duration;

use ralph_agents::AgentEvent;
use ralph_app::workflow_runs::{EventSource, WorkflowFact, WorkflowObserver};
use ralph_core::fact::Fact;
use ralph_engine::run_driver::{JournalPosition, RunObserver};

pub(crate) struct QuietObserver;

impl RunObserver for QuietObserver {
    fn on_fact(&mut self, _position: JournalPosition<'_>, _fact: &Fact) {}

    fn on_agent_event(&mut self, _event: &AgentEvent) {}

    fn on_display_line(&mut self, _line: &str) {}

    fn on_stop_grace(&mut self, _grace: Duration) {}

    fn on_limit_wait(&mut self, _left: Duration) {}

    fn on_warning(&mut self, _text: &str) {}
}

impl WorkflowObserver for QuietObserver {
    fn on_fact(&self, _source: EventSource<'_>, _fact: &WorkflowFact) {}

    fn on_agent_event(&self, _node: &str, _event: &AgentEvent) {}

    fn on_warning(&self, _text: &str) {}
}
