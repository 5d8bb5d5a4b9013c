//! GitHub Copilot CLI: agentStop and userPromptSubmitted. Its events contain neither their name nor the last message,
//! which is in the session's event file.
use std::ffi::OsString;

use serde_json::Value;

use super::skill_prompt;
use crate::hooks::{
    HookEvent, HookOutput, HookPayload, HookProtocol, HookReply, HostCapabilities, MessageSource, TranscriptLine,
    render_common_reply,
};

pub struct CopilotHooks;

impl HookProtocol for CopilotHooks {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn capabilities(&self, _variable: &dyn Fn(&str) -> Option<OsString>) -> HostCapabilities {
        HostCapabilities { message_source: MessageSource::InTranscript, ..HostCapabilities::DEFAULT }
    }

    fn parse_event(&self, payload: HookPayload) -> HookEvent {
        let is_stop = payload.stop_reason.is_some() || payload.stop_hook_active.is_some();
        match (payload.hook_event_name.as_deref(), payload.prompt.is_some()) {
            (Some("agentStop" | "Stop"), _) => HookEvent::Stop(payload.into()),
            (Some("userPromptSubmitted" | "UserPromptSubmit"), _) | (None, true) => {
                let prompt = payload.prompt.unwrap_or_default();
                HookEvent::Prompt { text: skill_prompt::typed_command(&prompt).unwrap_or(prompt) }
            }
            (Some("errorOccurred"), _) => HookEvent::Error { name: payload.into_error_name() },
            (None, false) if is_stop => HookEvent::Stop(payload.into()),
            (Some(_) | None, _) => HookEvent::Other,
        }
    }

    fn render_reply(&self, reply: &HookReply) -> HookOutput {
        render_common_reply(reply, "block", "userPromptSubmitted")
    }

    fn parse_transcript_line(&self, line: &[u8]) -> TranscriptLine {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { return TranscriptLine::Unrelated };
        let data = &record["data"];
        // Records of a sub-agent name the tool call that started it.
        if data["parentToolCallId"].is_string() {
            return TranscriptLine::Unrelated;
        }
        match record["type"].as_str() {
            Some("assistant.message") => agent_text_line(data),
            Some("user.message") => TranscriptLine::Prompted,
            Some(kind) if kind.starts_with("tool.") => TranscriptLine::Activity,
            Some(_) | None => TranscriptLine::Unrelated,
        }
    }
}

fn agent_text_line(data: &Value) -> TranscriptLine {
    let text = data["content"].as_str().unwrap_or_default().to_owned();
    if text.is_empty() { TranscriptLine::Activity } else { TranscriptLine::AgentText { message: String::new(), text } }
}
