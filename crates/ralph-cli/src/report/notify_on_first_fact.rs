//! A report that calls a function at the first fact, when the run is stored, and forwards everything to another report.
use std::time::Duration;

use ralph_core::fact::Fact;

use ralph_agents::AgentEvent;
use ralph_engine::run_driver::{JournalPosition, RunObserver};

pub struct NotifyOnFirstFact<W, F> {
    report: W,
    notify: Option<F>,
}

impl<W: RunObserver, F: FnOnce() + Send> NotifyOnFirstFact<W, F> {
    pub fn new(report: W, notify: F) -> Self {
        Self { report, notify: Some(notify) }
    }
}

impl<W: RunObserver, F: FnOnce() + Send> RunObserver for NotifyOnFirstFact<W, F> {
    fn on_fact(&mut self, stamp: JournalPosition<'_>, fact: &Fact) {
        if let Some(notify) = self.notify.take() {
            notify();
        }
        self.report.on_fact(stamp, fact);
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
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

    fn on_warning(&mut self, text: &str) {
        self.report.on_warning(text);
    }
}
