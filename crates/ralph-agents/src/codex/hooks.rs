//! Codex: Stop and UserPromptSubmit, in Claude Code's format. It does not limit continuations, and it runs a hook only
//! after the user has trusted it.
use std::ffi::OsString;

use serde_json::Value;

use crate::claude::hooks as claude;
use crate::hooks::{
    HookEvent, HookOutput, HookPayload, HookProtocol, HookReply, HostCapabilities, MessageUsage, TranscriptLine,
    pick_members_if_contains, render_common_reply,
};
use ralph_util::json;

pub struct CodexHooks;

impl HookProtocol for CodexHooks {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn capabilities(&self, _variable: &dyn Fn(&str) -> Option<OsString>) -> HostCapabilities {
        HostCapabilities::DEFAULT
    }

    fn parse_event(&self, payload: HookPayload) -> HookEvent {
        claude::parse_hook_event(payload)
    }

    fn render_reply(&self, reply: &HookReply) -> HookOutput {
        render_common_reply(reply, "block", "UserPromptSubmit")
    }

    /// Parses a line of the rollout file. Only response items are part of the conversation.
    fn parse_transcript_line(&self, line: &[u8]) -> TranscriptLine {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { return TranscriptLine::Unrelated };
        if record["type"] != "response_item" {
            return TranscriptLine::Unrelated;
        }
        let item = &record["payload"];
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("message"), Some("assistant")) => {
                TranscriptLine::AgentText { message: item_id(item), text: item_text(item) }
            }
            (Some("message"), Some("user")) => TranscriptLine::Prompted,
            (Some("message" | "reasoning") | None, _) => TranscriptLine::Unrelated,
            (Some(_), _) => TranscriptLine::Activity,
        }
    }

    fn parse_usage(&self, line: &[u8]) -> Option<MessageUsage> {
        let [payload, at] = pick_members_if_contains(line, "token_usage_record", ["payload", "timestamp"]);
        let [id, usage] = json::pick_members_or_none(payload, ["response_id", "usage"]);
        MessageUsage::from_members([id, at], json::pick_members_or_none(usage, ["input_tokens", "output_tokens"]))
    }
}

fn item_id(item: &Value) -> String {
    item["id"].as_str().unwrap_or_default().to_owned()
}

fn item_text(item: &Value) -> String {
    let parts = item["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}
