//! Writes the output of the scripted agent in Claude's stream format, one record per line.
use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

/// Writes the records of the scripted agent.
pub(super) struct DemoStreamWriter<W: Write> {
    out: W,
    pace: Duration,
    message_count: u32,
}

const SESSION_ID: &str = "00000000-0000-4000-8000-00000000d0d0";

impl<W: Write> DemoStreamWriter<W> {
    pub(super) fn new(out: W, pace: Duration) -> Self {
        Self { out, pace, message_count: 0 }
    }

    pub(super) fn write_init(&mut self) {
        self.write_record(&json!({
            "type": "system", "subtype": "init", "session_id": SESSION_ID, "model": "scripted-demo", "tools": ["Read", "Edit", "Bash"],
        }));
    }

    pub(super) fn write_text(&mut self, text: &str) {
        self.wait_pace();
        self.write_assistant(&json!({ "type": "text", "text": text }));
    }

    /// Writes a tool call and its result.
    pub(super) fn write_tool_call(&mut self, tool: &str, input: &Value, result: Result<&str, &str>) {
        self.wait_pace();
        let id = format!("toolu_{:04}", self.message_count);
        self.write_assistant(&json!({ "type": "tool_use", "id": id, "name": tool, "input": input }));
        self.wait_pace();
        let (content, is_error) = match result {
            Ok(text) => (text, false),
            Err(text) => (text, true),
        };
        let content = json!([{ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error }]);
        self.write_record(
            &json!({ "type": "user", "message": { "role": "user", "content": content }, "session_id": SESSION_ID }),
        );
    }

    pub(super) fn write_result(&mut self, text: &str) {
        self.write_text(text);
        self.write_record(&json!({
            "type": "result", "subtype": "success", "is_error": false, "result": text, "session_id": SESSION_ID,
            "num_turns": self.message_count, "total_cost_usd": 0.0,
            "usage": { "input_tokens": 0, "output_tokens": 0 },
        }));
    }

    fn write_assistant(&mut self, block: &Value) {
        self.message_count += 1;
        let id = format!("msg_{:04}", self.message_count);
        let message = json!({ "id": id, "role": "assistant", "model": "scripted-demo", "content": [block] });
        self.write_record(&json!({
            "type": "assistant", "message": message, "parent_tool_use_id": null, "session_id": SESSION_ID,
        }));
    }

    fn write_record(&mut self, record: &Value) {
        // The reader is gone, and the process will be stopped.
        let _ = writeln!(self.out, "{record}").and_then(|()| self.out.flush());
    }

    fn wait_pace(&self) {
        if !self.pace.is_zero() {
            std::thread::sleep(self.pace);
        }
    }
}
