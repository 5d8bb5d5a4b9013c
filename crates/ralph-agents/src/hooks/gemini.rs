//! Gemini CLI: AfterAgent and BeforeAgent. The message in its event has pieces twice and repeats what was said before, so
//! the transcript is read.
use std::ffi::OsString;

use serde_json::Value;

use super::{Facts, Incoming, Line, Payload, Protocol, Reply, Said, Stop, Used, Words, common, pick_with};
use ralph_util::json;

pub struct Gemini;

impl Protocol for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn facts(&self, _variable: &dyn Fn(&str) -> Option<OsString>) -> Facts {
        Facts { words: Words::InTranscript, is_cumulative: true, ..Facts::USUAL }
    }

    fn hear(&self, mut payload: Payload) -> Incoming {
        match payload.hook_event_name.as_deref() {
            Some("AfterAgent") => {
                let message = payload.prompt_response.take();
                Incoming::Stop(Stop { message, ..payload.into() })
            }
            Some("BeforeAgent") => Incoming::Prompt { text: payload.prompt.unwrap_or_default() },
            Some(_) | None => Incoming::Other,
        }
    }

    fn say(&self, reply: &Reply) -> Said {
        common(reply, ("deny", "BeforeAgent"))
    }

    fn line(&self, line: &[u8]) -> Line {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { return Line::Aside };
        match record["type"].as_str() {
            Some("gemini") => own(&record),
            Some("user") => Line::Prompted,
            Some(_) | None => Line::Aside,
        }
    }

    fn used(&self, line: &[u8]) -> Option<Used> {
        let [id, at, tokens] = pick_with(line, "\"tokens\"", ["id", "timestamp", "tokens"]);
        Used::of([id, at], json::pick_in(tokens, ["input", "output"]))
    }
}

/// A message that grows is written again, each time as a whole.
fn own(record: &Value) -> Line {
    let text = text(&record["content"]);
    if text.is_empty() { Line::Work } else { Line::Own { message: String::new(), text } }
}

/// Returns the text of a content, which is a text itself or a list of parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
