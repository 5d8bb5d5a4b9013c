//! Prints every stored fact as one JSON object per line.
use std::io::Write;
use std::time::Duration;

use ralph_core::fact::Fact;

use ralph_agents::AgentEvent;
use ralph_app::view::event_json_line;
use ralph_engine::run_driver::{JournalPosition, RunObserver};
use ralph_store::EventRow;
use ralph_util::redact;

pub struct JsonReport<W: Write> {
    out: W,
}

impl<W: Write> JsonReport<W> {
    pub fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write + Send> RunObserver for JsonReport<W> {
    fn on_fact(&mut self, stamp: JournalPosition<'_>, fact: &Fact) {
        let body = serde_json::to_string(fact).unwrap_or_default();
        let line = event_json_line(stamp.run, &EventRow { seq: stamp.seq, at: stamp.at.0, body });
        // A closed stream does not stop the run.
        let _ = writeln!(self.out, "{}", redact::redact_text(&line)).and_then(|()| self.out.flush());
    }

    fn on_agent_event(&mut self, _event: &AgentEvent) {}

    fn on_display_line(&mut self, _line: &str) {}

    fn on_stop_grace(&mut self, _grace: Duration) {}

    fn on_limit_wait(&mut self, _left: Duration) {}

    fn on_warning(&mut self, text: &str) {
        let line = serde_json::json!({ "event": "warning", "message": text });
        let _ = writeln!(self.out, "{}", redact::redact_text(&line.to_string()));
    }
}
