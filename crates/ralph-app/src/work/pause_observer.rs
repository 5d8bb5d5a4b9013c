//! Observes when the loop of a task is paused, because another task can then use its slot.
use std::sync::Arc;
use std::time::Duration;

use ralph_core::fact::{Fact, NextStep};

use super::active_tasks::ActiveTasks;
use ralph_agents::AgentEvent;
use ralph_engine::run_driver::{JournalPosition, RunObserver};

pub(super) struct PauseObserver {
    pub(super) inner: Box<dyn RunObserver>,
    pub(super) active_tasks: Arc<ActiveTasks>,
    pub(super) task_id: String,
}

impl RunObserver for PauseObserver {
    fn on_fact(&mut self, position: JournalPosition<'_>, fact: &Fact) {
        if let Fact::RunPaused { .. } | Fact::RunResumed { next: NextStep::Pause, .. } = fact {
            self.active_tasks.set_paused(&self.task_id, true);
        } else if let Fact::RunResumed { .. } = fact {
            self.active_tasks.set_paused(&self.task_id, false);
        }
        self.inner.on_fact(position, fact);
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        self.inner.on_agent_event(event);
    }

    fn on_display_line(&mut self, line: &str) {
        self.inner.on_display_line(line);
    }

    fn on_stop_grace(&mut self, grace: Duration) {
        self.inner.on_stop_grace(grace);
    }

    fn on_limit_wait(&mut self, left: Duration) {
        self.inner.on_limit_wait(left);
    }

    fn on_warning(&mut self, text: &str) {
        self.inner.on_warning(text);
    }
}
