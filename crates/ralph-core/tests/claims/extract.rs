//! A small reader of agent event streams, for these tests alone: the real ones belong to the agents.

use ralph_core::claim::{ClaimFinder, TranscriptEvent};
use serde_json::Value;

/// Feeds the events of an output to the finder.
pub(crate) fn feed(format: &str, output: &str, finder: &mut ClaimFinder) {
    if format == "text" {
        return finder.handle_event(TranscriptEvent::AgentText { message: 1, text: output });
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
    fn own(&mut self, id: &str, words: &str, finder: &mut ClaimFinder) {
        if id.is_empty() || id != self.id {
            self.message += 1;
            self.id = id.to_owned();
        }
        self.spoke = true;
        finder.handle_event(TranscriptEvent::AgentText { message: self.message, text: words });
    }

    fn claude(&mut self, event: &Value, finder: &mut ClaimFinder) {
        if !text(event, "/parent_tool_use_id").is_empty() {
            return;
        }
        match text(event, "/type") {
            "stream_event" => self.own("stream", text(event, "/event/delta/text"), finder),
            "assistant" => {
                for block in event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten() {
                    if text(block, "/type") == "text" {
                        self.own(text(event, "/message/id"), text(block, "/text"), finder);
                    }
                }
            }
            "user" => {
                let blocks = event.pointer("/message/content").and_then(Value::as_array);
                if blocks.into_iter().flatten().any(|block| text(block, "/type") == "text") {
                    finder.handle_event(TranscriptEvent::NewPrompt);
                }
            }
            "result" => self.result(event, finder),
            _ => {}
        }
    }

    fn result(&mut self, event: &Value, finder: &mut ClaimFinder) {
        if event.get("is_error") == Some(&Value::Bool(true)) {
            finder.handle_event(TranscriptEvent::TurnFailed);
        } else if !self.spoke {
            self.own("result", text(event, "/result"), finder);
        }
    }

    fn codex(&mut self, event: &Value, finder: &mut ClaimFinder) {
        match (text(event, "/type"), text(event, "/item/type")) {
            ("item.completed", "agent_message") => {
                self.own(text(event, "/item/id"), text(event, "/item/text"), finder);
            }
            ("item.completed", "user_message") => finder.handle_event(TranscriptEvent::NewPrompt),
            ("error" | "turn.failed", _) => finder.handle_event(TranscriptEvent::TurnFailed),
            _ => {}
        }
    }

    fn cline(&mut self, event: &Value, finder: &mut ClaimFinder) {
        match (text(event, "/say"), text(event, "/ask")) {
            ("text" | "completion_result", _) => self.own("", text(event, "/text"), finder),
            ("task" | "user_feedback", _) => finder.handle_event(TranscriptEvent::NewPrompt),
            (_, "api_req_failed") => finder.handle_event(TranscriptEvent::TurnFailed),
            _ => {}
        }
    }

    fn opencode(&mut self, event: &Value, finder: &mut ClaimFinder) {
        match text(event, "/type") {
            "text" => self.own(text(event, "/part/messageID"), text(event, "/part/text"), finder),
            "error" => finder.handle_event(TranscriptEvent::TurnFailed),
            _ => {}
        }
    }
}
