//! Gemini CLI: AfterAgent and BeforeAgent. The message in the event contains duplicate pieces and earlier messages, so
//! the transcript is read instead.
use std::ffi::OsString;

use serde_json::Value;

use crate::hooks::{
    HookEvent, HookOutput, HookPayload, HookProtocol, HookReply, HostCapabilities, MessageSource, MessageUsage,
    TranscriptLine, TurnStop, pick_members_if_contains, render_common_reply,
};
use ralph_util::json;

pub struct GeminiHooks;

impl HookProtocol for GeminiHooks {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn capabilities(&self, _variable: &dyn Fn(&str) -> Option<OsString>) -> HostCapabilities {
        HostCapabilities {
            message_source: MessageSource::InTranscript,
            is_message_cumulative: true,
            ..HostCapabilities::DEFAULT
        }
    }

    fn parse_event(&self, mut payload: HookPayload) -> HookEvent {
        match payload.hook_event_name.as_deref() {
            Some("AfterAgent") => {
                let message = payload.prompt_response.take();
                HookEvent::Stop(TurnStop { message, ..payload.into() })
            }
            Some("BeforeAgent") => HookEvent::Prompt { text: payload.prompt.unwrap_or_default() },
            Some(_) | None => HookEvent::Other,
        }
    }

    fn render_reply(&self, reply: &HookReply) -> HookOutput {
        render_common_reply(reply, "deny", "BeforeAgent")
    }

    fn parse_transcript_line(&self, line: &[u8]) -> TranscriptLine {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { return TranscriptLine::Unrelated };
        match record["type"].as_str() {
            Some("gemini") => agent_text_line(&record),
            Some("user") => TranscriptLine::Prompted,
            Some(_) | None => TranscriptLine::Unrelated,
        }
    }

    fn parse_usage(&self, line: &[u8]) -> Option<MessageUsage> {
        let [id, at, tokens] = pick_members_if_contains(line, "\"tokens\"", ["id", "timestamp", "tokens"]);
        MessageUsage::from_members([id, at], json::pick_members_or_none(tokens, ["input", "output"]))
    }
}

/// A growing message is written repeatedly, each time as a whole.
fn agent_text_line(record: &Value) -> TranscriptLine {
    let text = content_text(&record["content"]);
    if text.is_empty() { TranscriptLine::Activity } else { TranscriptLine::AgentText { message: String::new(), text } }
}

/// Returns the text of a message's content, which is a string or a list of parts.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
