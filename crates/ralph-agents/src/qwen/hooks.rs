//! Qwen Code: Claude Code's events and replies, but a different transcript format. The last message in the event
//! contains all agent text since the user's prompt.
use std::ffi::OsString;

use ralph_core::session_loop::{CapResetRule, ContinuationCap};
use serde_json::Value;

use crate::claude::hooks as claude;
use crate::hooks::{
    HookEvent, HookOutput, HookPayload, HookProtocol, HookReply, HostCapabilities, MessageUsage, TranscriptLine,
    configured_block_cap, pick_members_if_contains, render_common_reply,
};
use ralph_util::json;

pub struct QwenHooks;

/// Qwen ignores the last of these continuations in a row.
const DEFAULT_BLOCK_CAP: ContinuationCap =
    ContinuationCap { max_continuations: 8, reset_rule: CapResetRule::OnUserMessage };

impl HookProtocol for QwenHooks {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn capabilities(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> HostCapabilities {
        let cap = configured_block_cap(variable, "QWEN_CODE_STOP_HOOK_BLOCK_CAP", DEFAULT_BLOCK_CAP);
        let continuation_cap =
            Some(ContinuationCap { max_continuations: cap.max_continuations.saturating_sub(1), ..cap });
        HostCapabilities { continuation_cap, is_message_cumulative: true, ..HostCapabilities::DEFAULT }
    }

    fn parse_event(&self, payload: HookPayload) -> HookEvent {
        claude::parse_hook_event(payload)
    }

    fn render_reply(&self, reply: &HookReply) -> HookOutput {
        render_common_reply(reply, "block", "UserPromptSubmit")
    }

    fn parse_transcript_line(&self, line: &[u8]) -> TranscriptLine {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { return TranscriptLine::Unrelated };
        match record["type"].as_str() {
            Some("assistant") => agent_text_line(&record),
            Some("tool_result") => TranscriptLine::Activity,
            Some("user") => TranscriptLine::Prompted,
            Some(_) | None => TranscriptLine::Unrelated,
        }
    }

    fn parse_usage(&self, line: &[u8]) -> Option<MessageUsage> {
        let [id, at, tokens] =
            pick_members_if_contains(line, "\"usageMetadata\"", ["uuid", "timestamp", "usageMetadata"]);
        MessageUsage::from_members(
            [id, at],
            json::pick_members_or_none(tokens, ["promptTokenCount", "candidatesTokenCount"]),
        )
    }
}

/// Reasoning parts are not agent text.
fn agent_text_line(record: &Value) -> TranscriptLine {
    let parts = record["message"]["parts"].as_array().into_iter().flatten();
    let texts = parts.filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str());
    let text: String = texts.collect();
    let message = record["uuid"].as_str().unwrap_or_default().to_owned();
    if text.is_empty() { TranscriptLine::Activity } else { TranscriptLine::AgentText { message, text } }
}
