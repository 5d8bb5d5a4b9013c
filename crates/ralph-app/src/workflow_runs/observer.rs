//! How a workflow run reports its progress. An observer never changes the run.
use ralph_agents::AgentEvent;

use super::fact::WorkflowFact;

/// The run of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSource<'a> {
    pub run: &'a str,
    /// The nodes of the parents, each followed by ` > `; empty for a run without a parent.
    pub path: &'a str,
}

/// `Sync`, because several nodes work at the same time.
pub trait WorkflowObserver: Send + Sync {
    /// An event was stored.
    fn on_fact(&self, source: EventSource<'_>, fact: &WorkflowFact);

    /// The agent of a node has reported an event. In a child run, the nodes of the parents come before the node.
    fn on_agent_event(&self, node: &str, event: &AgentEvent);

    /// A warning for the user. The run continues.
    fn on_warning(&self, text: &str);
}
