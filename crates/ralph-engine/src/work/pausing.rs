//! Sees when the loop of a task pauses: nobody works on it then, and another one can have its slot.
use std::rc::Rc;
use std::time::Duration;

use ralph_core::fact::{Fact, NextStep};

use super::desk::Desk;
use crate::engine::{Stamp, Watcher};
use ralph_agents::AgentEvent;

pub(super) struct Pausing {
    pub(super) watcher: Box<dyn Watcher>,
    pub(super) desk: Rc<Desk>,
    pub(super) task: String,
}

impl Watcher for Pausing {
    fn fact(&mut self, stamp: Stamp<'_>, fact: &Fact) {
        if let Fact::RunPaused { .. } | Fact::RunResumed { next: NextStep::Pause, .. } = fact {
            self.desk.pause(&self.task, true);
        } else if let Fact::RunResumed { .. } = fact {
            self.desk.pause(&self.task, false);
        }
        self.watcher.fact(stamp, fact);
    }

    fn agent(&mut self, event: &AgentEvent) {
        self.watcher.agent(event);
    }

    fn filtered(&mut self, line: &str) {
        self.watcher.filtered(line);
    }

    fn grace(&mut self, grace: Duration) {
        self.watcher.grace(grace);
    }

    fn waiting(&mut self, left: Duration) {
        self.watcher.waiting(left);
    }

    fn warning(&mut self, text: &str) {
        self.watcher.warning(text);
    }
}
