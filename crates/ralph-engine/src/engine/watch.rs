//! What the engine shows while it works. Watching never changes a run.
use std::time::Duration;

use ralph_core::event::Millis;
use ralph_core::fact::Fact;

use ralph_agents::AgentEvent;

/// Where a fact stands in the journal.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    pub run: &'a str,
    pub seq: i64,
    pub at: Millis,
}

pub trait Watcher {
    /// A fact has been stored.
    fn fact(&mut self, stamp: Stamp<'_>, fact: &Fact);

    /// The agent did or said something.
    fn agent(&mut self, event: &AgentEvent);

    /// The user's display filter gave this line.
    fn filtered(&mut self, line: &str);

    /// A signal has asked the agent to stop: it has so long, and the next signal kills it at once.
    fn grace(&mut self, grace: Duration);

    /// The run waits for a rate limit, for so long still. It is told about once a second.
    fn waiting(&mut self, left: Duration);

    /// Something that the user should know, but that stops nothing.
    fn warning(&mut self, text: &str);
}
