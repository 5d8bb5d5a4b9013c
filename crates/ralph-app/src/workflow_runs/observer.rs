//! How a workflow run reports its progress. An observer never changes the run.
use ralph_agents::AgentEvent;

use super::fact::WorkflowFact;

/// `Sync`, because several nodes work at the same time.
pub trait WorkflowObserver: Send + Sync {
    /// An event was stored.
    fn on_fact(&self, run: &str, fact: &WorkflowFact);

    /// The agent of a node has reported an event.
    fn on_agent_event(&self, node: &str, event: &AgentEvent);

    /// A warning for the user. The run continues.
    fn on_warning(&self, text: &str);
}
