//! The scripted agent's voice: Claude's stream format, one record a line.
use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

/// Speaks as the agent.
pub(super) struct Voice<W: Write> {
    out: W,
    pace: Duration,
    messages: u32,
}

const SESSION: &str = "00000000-0000-4000-8000-00000000d0d0";

impl<W: Write> Voice<W> {
    pub(super) fn new(out: W, pace: Duration) -> Self {
        Self { out, pace, messages: 0 }
    }

    pub(super) fn starts(&mut self) {
        self.record(&json!({
            "type": "system", "subtype": "init", "session_id": SESSION, "model": "scripted-demo", "tools": ["Read", "Edit", "Bash"],
        }));
    }

    pub(super) fn says(&mut self, text: &str) {
        self.pause();
        self.assistant(&json!({ "type": "text", "text": text }));
    }

    /// Reports a tool call and what came of it.
    pub(super) fn uses(&mut self, tool: &str, input: &Value, result: Result<&str, &str>) {
        self.pause();
        let id = format!("toolu_{:04}", self.messages);
        self.assistant(&json!({ "type": "tool_use", "id": id, "name": tool, "input": input }));
        self.pause();
        let (content, is_error) = match result {
            Ok(text) => (text, false),
            Err(text) => (text, true),
        };
        let content =
            json!([{ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error }]);
        self.record(&json!({ "type": "user", "message": { "role": "user", "content": content }, "session_id": SESSION }));
    }

    pub(super) fn finishes(&mut self, text: &str) {
        self.says(text);
        self.record(&json!({
            "type": "result", "subtype": "success", "is_error": false, "result": text, "session_id": SESSION,
            "num_turns": self.messages, "total_cost_usd": 0.0,
            "usage": { "input_tokens": 0, "output_tokens": 0 },
        }));
    }

    fn assistant(&mut self, block: &Value) {
        self.messages += 1;
        let id = format!("msg_{:04}", self.messages);
        let message = json!({ "id": id, "role": "assistant", "model": "scripted-demo", "content": [block] });
        self.record(&json!({
            "type": "assistant", "message": message, "parent_tool_use_id": null, "session_id": SESSION,
        }));
    }

    fn record(&mut self, record: &Value) {
        // Nobody listens any more: the process will be stopped.
        let _ = writeln!(self.out, "{record}").and_then(|()| self.out.flush());
    }

    fn pause(&self) {
        if !self.pace.is_zero() {
            std::thread::sleep(self.pace);
        }
    }
}
