//! Claude Code: Stop, StopFailure and UserPromptSubmit. It hands over the last message, and after 8 blocks in a row
//! without a tool call it lets the session end whatever a hook says.
use std::ffi::OsString;

use ralph_core::session::{Cap, Counting};
use serde_json::Value;

use super::{Facts, Incoming, Line, Payload, Protocol, Reply, Said, Used, cap_of, common, pick_with};
use ralph_util::json;

pub struct Claude;

const BLOCK_CAP: Cap = Cap { most: 8, counting: Counting::UntilTool };

impl Protocol for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn facts(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Facts {
        let block_cap = Some(cap_of(variable, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", BLOCK_CAP));
        Facts { block_cap, ..Facts::USUAL }
    }

    fn hear(&self, payload: Payload) -> Incoming {
        hear(payload)
    }

    fn say(&self, reply: &Reply) -> Said {
        common(reply, ("block", "UserPromptSubmit"))
    }

    fn line(&self, line: &[u8]) -> Line {
        line_of(line)
    }

    /// Sub-agents are paid for too.
    fn used(&self, line: &[u8]) -> Option<Used> {
        let [message, at] = pick_with(line, "\"usage\"", ["message", "timestamp"]);
        let [id, usage] = json::pick_in(message, ["id", "usage"]);
        Used::of([id, at], json::pick_in(usage, ["input_tokens", "output_tokens"]))
    }
}

/// Reads an event of this shape, which others have taken over.
pub(super) fn hear(payload: Payload) -> Incoming {
    match payload.hook_event_name.as_deref() {
        Some("Stop") => Incoming::Stop(payload.into()),
        Some("StopFailure") => Incoming::Error { name: payload.trouble() },
        Some("UserPromptSubmit") => Incoming::Prompt { text: payload.prompt.unwrap_or_default() },
        Some(_) | None => Incoming::Other,
    }
}

/// What a hook's own prompt begins with, of which it says that it is none.
const CONTINUED: &str = "Stop hook feedback:";

/// Reads a line of a session's file: a message of the conversation has its role, and each of its blocks a line.
fn line_of(line: &[u8]) -> Line {
    let Ok(record) = serde_json::from_slice::<Value>(line) else { return Line::Aside };
    let content = &record["message"]["content"];
    if record["isMeta"] == true && text_of(content).is_some_and(|text| text.starts_with(CONTINUED)) {
        return Line::Prompted;
    }
    let is_aside = ["isSidechain", "isMeta", "isApiErrorMessage"].iter().any(|key| record[key] == true);
    if is_aside || record["message"]["model"] == "<synthetic>" {
        return Line::Aside;
    }
    let has =
        |kind: &str| content.as_array().is_some_and(|all| all.iter().any(|block| block["type"] == kind));
    match record["type"].as_str() {
        Some("assistant") => match text_of(content) {
            Some(text) => Line::Own { message: text_at(&record["message"]["id"]), text },
            None if has("tool_use") => Line::Work,
            None => Line::Aside,
        },
        Some("user") if has("tool_result") => Line::Work,
        Some("user") => Line::Prompted,
        Some(_) | None => Line::Aside,
    }
}

fn text_at(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the text of a content, which is a text itself or a list of blocks.
fn text_of(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let blocks = content.as_array()?.iter().filter(|block| block["type"] == "text");
    let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
    (!text.is_empty()).then_some(text)
}
