//! One JSON object a line: every stored fact as it is stored.
use std::io::Write;
use std::time::Duration;

use ralph_core::fact::Fact;

use ralph_agents::AgentEvent;
use ralph_app::view::event_line;
use ralph_engine::engine::{Stamp, Watcher};
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

impl<W: Write> Watcher for JsonReport<W> {
    fn fact(&mut self, stamp: Stamp<'_>, fact: &Fact) {
        let body = serde_json::to_string(fact).unwrap_or_default();
        let line = event_line(stamp.run, &EventRow { seq: stamp.seq, at: stamp.at.0, body });
        // A reader that went away does not stop the run.
        let _ = writeln!(self.out, "{}", redact::text(&line)).and_then(|()| self.out.flush());
    }

    fn agent(&mut self, _event: &AgentEvent) {}

    fn filtered(&mut self, _line: &str) {}

    fn grace(&mut self, _grace: Duration) {}

    fn waiting(&mut self, _left: Duration) {}

    fn warning(&mut self, text: &str) {
        let line = serde_json::json!({ "event": "warning", "message": text });
        let _ = writeln!(self.out, "{}", redact::text(&line.to_string()));
    }
}
