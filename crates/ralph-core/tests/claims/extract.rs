//! A small reader of agent event streams, for these tests alone: the real ones belong to the agents.

use ralph_core::claim::{Finder, Heard};
use serde_json::Value;

/// Feeds the events of an output to the finder.
pub(crate) fn feed(format: &str, output: &str, finder: &mut Finder) {
    if format == "text" {
        return finder.hear(Heard::Own { message: 1, text: output });
    }
    let mut stream = Stream::default();
    for line in output.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        match format {
            "claude" | "amp" => stream.claude(&event, finder),
            "codex" => stream.codex(&event, finder),
            "cline" => stream.cline(&event, finder),
            "opencode" => stream.opencode(&event, finder),
            other => panic!("unknown format {other}"),
        }
    }
}

#[derive(Default)]
struct Stream {
    message: u64,
    id: String,
    spoke: bool,
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

impl Stream {
    fn own(&mut self, id: &str, words: &str, finder: &mut Finder) {
        if id.is_empty() || id != self.id {
            self.message += 1;
            self.id = id.to_owned();
        }
        self.spoke = true;
        finder.hear(Heard::Own { message: self.message, text: words });
    }

    fn claude(&mut self, event: &Value, finder: &mut Finder) {
        if !text(event, "/parent_tool_use_id").is_empty() {
            return;
        }
        match text(event, "/type") {
            "stream_event" => self.own("stream", text(event, "/event/delta/text"), finder),
            "assistant" => {
                for block in event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
                {
                    if text(block, "/type") == "text" {
                        self.own(text(event, "/message/id"), text(block, "/text"), finder);
                    }
                }
            }
            "user" => {
                let blocks = event.pointer("/message/content").and_then(Value::as_array);
                if blocks.into_iter().flatten().any(|block| text(block, "/type") == "text") {
                    finder.hear(Heard::Prompted);
                }
            }
            "result" => self.result(event, finder),
            _ => {}
        }
    }

    fn result(&mut self, event: &Value, finder: &mut Finder) {
        if event.get("is_error") == Some(&Value::Bool(true)) {
            finder.hear(Heard::Failed);
        } else if !self.spoke {
            self.own("result", text(event, "/result"), finder);
        }
    }

    fn codex(&mut self, event: &Value, finder: &mut Finder) {
        match (text(event, "/type"), text(event, "/item/type")) {
            ("item.completed", "agent_message") => {
                self.own(text(event, "/item/id"), text(event, "/item/text"), finder);
            }
            ("item.completed", "user_message") => finder.hear(Heard::Prompted),
            ("error" | "turn.failed", _) => finder.hear(Heard::Failed),
            _ => {}
        }
    }

    fn cline(&mut self, event: &Value, finder: &mut Finder) {
        match (text(event, "/say"), text(event, "/ask")) {
            ("text" | "completion_result", _) => self.own("", text(event, "/text"), finder),
            ("task" | "user_feedback", _) => finder.hear(Heard::Prompted),
            (_, "api_req_failed") => finder.hear(Heard::Failed),
            _ => {}
        }
    }

    fn opencode(&mut self, event: &Value, finder: &mut Finder) {
        match text(event, "/type") {
            "text" => self.own(text(event, "/part/messageID"), text(event, "/part/text"), finder),
            "error" => finder.hear(Heard::Failed),
            _ => {}
        }
    }
}
