//! Claude Code: Stop, StopFailure and UserPromptSubmit. The event contains the last message. After 8 blocks in a row
//! without a tool call, Claude ends the session regardless of the hook.
use std::ffi::OsString;

use ralph_core::session_loop::{CapResetRule, ContinuationCap};
use serde_json::Value;

use crate::hooks::{
    HookEvent, HookOutput, HookPayload, HookProtocol, HookReply, HostCapabilities, MessageUsage, TranscriptLine,
    configured_block_cap, pick_members_if_contains, render_common_reply,
};
use ralph_util::json;

pub struct ClaudeHooks;

const DEFAULT_BLOCK_CAP: ContinuationCap =
    ContinuationCap { max_continuations: 8, reset_rule: CapResetRule::OnToolUse };

impl HookProtocol for ClaudeHooks {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn capabilities(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> HostCapabilities {
        let continuation_cap =
            Some(configured_block_cap(variable, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", DEFAULT_BLOCK_CAP));
        HostCapabilities { continuation_cap, ..HostCapabilities::DEFAULT }
    }

    fn parse_event(&self, payload: HookPayload) -> HookEvent {
        parse_hook_event(payload)
    }

    fn render_reply(&self, reply: &HookReply) -> HookOutput {
        render_common_reply(reply, "block", "UserPromptSubmit")
    }

    fn parse_transcript_line(&self, line: &[u8]) -> TranscriptLine {
        parse_session_line(line)
    }

    /// Includes the usage of sub-agents.
    fn parse_usage(&self, line: &[u8]) -> Option<MessageUsage> {
        let [message, at] = pick_members_if_contains(line, "\"usage\"", ["message", "timestamp"]);
        let [id, usage] = json::pick_members_or_none(message, ["id", "usage"]);
        MessageUsage::from_members([id, at], json::pick_members_or_none(usage, ["input_tokens", "output_tokens"]))
    }
}

/// Parses an event in this format, which other programs use too.
pub(crate) fn parse_hook_event(payload: HookPayload) -> HookEvent {
    match payload.hook_event_name.as_deref() {
        Some("Stop") => HookEvent::Stop(payload.into()),
        Some("StopFailure") => HookEvent::Error { name: payload.into_error_name() },
        Some("UserPromptSubmit") => HookEvent::Prompt { text: payload.prompt.unwrap_or_default() },
        Some(_) | None => HookEvent::Other,
    }
}

/// The prefix of a prompt that came from a hook. Claude marks it as `isMeta`, but it starts a new turn.
const STOP_HOOK_FEEDBACK_PREFIX: &str = "Stop hook feedback:";

/// Parses a line of the session file. Each content block of a message has its own line.
fn parse_session_line(line: &[u8]) -> TranscriptLine {
    let Ok(record) = serde_json::from_slice::<Value>(line) else { return TranscriptLine::Unrelated };
    let content = &record["message"]["content"];
    if record["isMeta"] == true && content_text(content).is_some_and(|text| text.starts_with(STOP_HOOK_FEEDBACK_PREFIX))
    {
        return TranscriptLine::Prompted;
    }
    let is_side_record = ["isSidechain", "isMeta", "isApiErrorMessage"].iter().any(|key| record[key] == true);
    if is_side_record || record["message"]["model"] == "<synthetic>" {
        return TranscriptLine::Unrelated;
    }
    let has = |kind: &str| content.as_array().is_some_and(|all| all.iter().any(|block| block["type"] == kind));
    match record["type"].as_str() {
        Some("assistant") => match content_text(content) {
            Some(text) => TranscriptLine::AgentText { message: string_or_empty(&record["message"]["id"]), text },
            None if has("tool_use") => TranscriptLine::Activity,
            None => TranscriptLine::Unrelated,
        },
        Some("user") if has("tool_result") => TranscriptLine::Activity,
        Some("user") => TranscriptLine::Prompted,
        Some(_) | None => TranscriptLine::Unrelated,
    }
}

fn string_or_empty(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the text of a message's content, which is a string or a list of blocks.
fn content_text(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let blocks = content.as_array()?.iter().filter(|block| block["type"] == "text");
    let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
    (!text.is_empty()).then_some(text)
}
