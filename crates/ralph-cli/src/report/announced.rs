//! A report that tells somebody once that the run is stored, and then is another report.
use std::time::Duration;

use ralph_core::fact::Fact;

use ralph_agents::AgentEvent;
use ralph_engine::engine::{Stamp, Watcher};

pub struct Announced<W, F> {
    report: W,
    tell: Option<F>,
}

impl<W: Watcher, F: FnOnce()> Announced<W, F> {
    pub fn new(report: W, tell: F) -> Self {
        Self { report, tell: Some(tell) }
    }
}

impl<W: Watcher, F: FnOnce()> Watcher for Announced<W, F> {
    fn fact(&mut self, stamp: Stamp<'_>, fact: &Fact) {
        if let Some(tell) = self.tell.take() {
            tell();
        }
        self.report.fact(stamp, fact);
    }

    fn agent(&mut self, event: &AgentEvent) {
        self.report.agent(event);
    }

    fn filtered(&mut self, line: &str) {
        self.report.filtered(line);
    }

    fn grace(&mut self, grace: Duration) {
        self.report.grace(grace);
    }

    fn waiting(&mut self, left: Duration) {
        self.report.waiting(left);
    }

    fn warning(&mut self, text: &str) {
        self.report.warning(text);
    }
}
