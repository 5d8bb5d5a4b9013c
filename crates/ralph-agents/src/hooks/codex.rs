//! Codex: Stop and UserPromptSubmit, in the shape of Claude Code's. It has no limit of continuations in a row. It starts
//! a hook only once the user has trusted it.
use std::ffi::OsString;

use serde_json::Value;

use super::{Facts, Incoming, Line, Payload, Protocol, Reply, Said, Used, claude, common, pick_with};
use ralph_util::json;

pub struct Codex;

impl Protocol for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn facts(&self, _variable: &dyn Fn(&str) -> Option<OsString>) -> Facts {
        Facts::USUAL
    }

    fn hear(&self, payload: Payload) -> Incoming {
        claude::hear(payload)
    }

    fn say(&self, reply: &Reply) -> Said {
        common(reply, ("block", "UserPromptSubmit"))
    }

    /// Reads a line of a rollout: the items of responses are the conversation, all else repeats or accompanies them.
    fn line(&self, line: &[u8]) -> Line {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { return Line::Aside };
        if record["type"] != "response_item" {
            return Line::Aside;
        }
        let item = &record["payload"];
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("message"), Some("assistant")) => Line::Own { message: id(item), text: text(item) },
            (Some("message"), Some("user")) => Line::Prompted,
            (Some("message" | "reasoning") | None, _) => Line::Aside,
            (Some(_), _) => Line::Work,
        }
    }

    fn used(&self, line: &[u8]) -> Option<Used> {
        let [told, at] = pick_with(line, "token_usage_record", ["payload", "timestamp"]);
        let [id, usage] = json::pick_in(told, ["response_id", "usage"]);
        Used::of([id, at], json::pick_in(usage, ["input_tokens", "output_tokens"]))
    }
}

fn id(item: &Value) -> String {
    item["id"].as_str().unwrap_or_default().to_owned()
}

fn text(item: &Value) -> String {
    let parts = item["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}
