//! What the engine shows while it works. Watching never changes a run.
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;

use ralph_agents::AgentEvent;

/// Where a fact stands in the journal.
#[derive(Debug, Clone, Copy)]
pub struct JournalPosition<'a> {
    pub run: &'a str,
    pub seq: i64,
    pub at: UnixMillis,
}

pub trait RunObserver {
    /// A fact has been stored.
    fn on_fact(&mut self, position: JournalPosition<'_>, fact: &Fact);

    /// The agent did or said something.
    fn on_agent_event(&mut self, event: &AgentEvent);

    /// The user's display filter gave this line.
    fn on_display_line(&mut self, line: &str);

    /// A signal has asked the agent to stop: it has so long, and the next signal kills it at once.
    fn on_stop_grace(&mut self, grace: Duration);

    /// The run waits for a rate limit, for so long still. It is told about once a second.
    fn on_limit_wait(&mut self, left: Duration);

    /// Something that the user should know, but that stops nothing.
    fn on_warning(&mut self, text: &str);
}
