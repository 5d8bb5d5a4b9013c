//! A report that also knows the state of now, for a person who asks for it with Enter or SIGUSR1.
use std::time::Duration;

use ralph_agents::AgentEvent;
use ralph_core::fact::Fact;
use ralph_engine::run_driver::{JournalPosition, RunObserver};

use super::ci::{IterationTracker, RunHeading};

/// Forwards everything to another report, and answers requests for the state.
pub struct StateReport<R> {
    report: R,
    tracker: IterationTracker,
}

impl<R: RunObserver> StateReport<R> {
    pub fn new(report: R, heading: RunHeading) -> Self {
        Self { report, tracker: IterationTracker::new(heading) }
    }
}

impl<R: RunObserver> RunObserver for StateReport<R> {
    fn on_fact(&mut self, stamp: JournalPosition<'_>, fact: &Fact) {
        self.tracker.follow(fact);
        self.report.on_fact(stamp, fact);
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        self.tracker.observe_agent_event(event);
        self.report.on_agent_event(event);
    }

    fn on_display_line(&mut self, line: &str) {
        self.report.on_display_line(line);
    }

    fn on_stop_grace(&mut self, grace: Duration) {
        self.report.on_stop_grace(grace);
    }

    fn on_limit_wait(&mut self, left: Duration) {
        self.report.on_limit_wait(left);
    }

    fn on_quiet(&mut self) {
        self.report.on_quiet();
    }

    fn on_warning(&mut self, text: &str) {
        self.report.on_warning(text);
    }

    fn on_state_request(&mut self) {
        self.report.on_state_line(&self.tracker.state_line());
    }

    fn on_state_line(&mut self, line: &str) {
        self.report.on_state_line(line);
    }
}
