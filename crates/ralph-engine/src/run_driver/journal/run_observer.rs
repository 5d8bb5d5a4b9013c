//! The interface through which the engine reports the progress of a run. An observer never changes the run.
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;

use ralph_agents::AgentEvent;

/// The position of a fact in the journal.
#[derive(Debug, Clone, Copy)]
pub struct JournalPosition<'a> {
    pub run: &'a str,
    pub seq: i64,
    pub at: UnixMillis,
}

/// `Send`, so that the future of a run can move between threads.
pub trait RunObserver: Send {
    /// A fact has been stored.
    fn on_fact(&mut self, position: JournalPosition<'_>, fact: &Fact);

    /// The agent has reported an event.
    fn on_agent_event(&mut self, event: &AgentEvent);

    /// The user's display filter has printed a line.
    fn on_display_line(&mut self, line: &str);

    /// The agent was asked to stop within the grace period; the next signal kills it at once.
    fn on_stop_grace(&mut self, grace: Duration);

    /// The run waits for a rate limit. Called about once a second with the time that is left.
    fn on_limit_wait(&mut self, left: Duration);

    /// Nothing was reported for a moment: text that has begun is shown.
    fn on_quiet(&mut self) {}

    /// A warning for the user. The run continues.
    fn on_warning(&mut self, text: &str);

    /// A person asks for the state of now.
    fn on_state_request(&mut self) {}

    /// The answer to such a request.
    fn on_state_line(&mut self, _line: &str) {}
}
