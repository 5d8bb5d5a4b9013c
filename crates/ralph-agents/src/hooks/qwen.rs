//! Qwen Code: Claude Code's events and answers, and a transcript of its own. What it hands over as the last message repeats
//! everything that was said since the user spoke.
use std::ffi::OsString;

use ralph_core::session::{Cap, Counting};
use serde_json::Value;

use super::{Facts, Incoming, Line, Payload, Protocol, Reply, Said, Used, cap_of, claude, common, pick_with};
use ralph_util::json;

pub struct Qwen;

/// Of so many continuations in a row the last one is overridden already.
const BLOCK_CAP: Cap = Cap { most: 8, counting: Counting::UntilUser };

impl Protocol for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn facts(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Facts {
        let cap = cap_of(variable, "QWEN_CODE_STOP_HOOK_BLOCK_CAP", BLOCK_CAP);
        let block_cap = Some(Cap { most: cap.most.saturating_sub(1), ..cap });
        Facts { block_cap, is_cumulative: true, ..Facts::USUAL }
    }

    fn hear(&self, payload: Payload) -> Incoming {
        claude::hear(payload)
    }

    fn say(&self, reply: &Reply) -> Said {
        common(reply, ("block", "UserPromptSubmit"))
    }

    fn line(&self, line: &[u8]) -> Line {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { return Line::Aside };
        match record["type"].as_str() {
            Some("assistant") => own(&record),
            Some("tool_result") => Line::Work,
            Some("user") => Line::Prompted,
            Some(_) | None => Line::Aside,
        }
    }

    fn used(&self, line: &[u8]) -> Option<Used> {
        let [id, at, tokens] = pick_with(line, "\"usageMetadata\"", ["uuid", "timestamp", "usageMetadata"]);
        Used::of([id, at], json::pick_in(tokens, ["promptTokenCount", "candidatesTokenCount"]))
    }
}

/// Thoughts are no words.
fn own(record: &Value) -> Line {
    let parts = record["message"]["parts"].as_array().into_iter().flatten();
    let spoken = parts.filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str());
    let text: String = spoken.collect();
    let message = record["uuid"].as_str().unwrap_or_default().to_owned();
    if text.is_empty() { Line::Work } else { Line::Own { message, text } }
}
