//! GitHub Copilot CLI: agentStop and userPromptSubmitted. Its events do not name themselves, and hold no message: that
//! stands in the session's events.
use std::ffi::OsString;

use serde_json::Value;

use super::{Facts, Incoming, Line, Payload, Protocol, Reply, Said, Words, common};

pub struct Copilot;

impl Protocol for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn facts(&self, _variable: &dyn Fn(&str) -> Option<OsString>) -> Facts {
        Facts { words: Words::InTranscript, ..Facts::USUAL }
    }

    fn hear(&self, payload: Payload) -> Incoming {
        let is_stop = payload.stop_reason.is_some() || payload.stop_hook_active.is_some();
        match (payload.hook_event_name.as_deref(), payload.prompt.is_some()) {
            (Some("agentStop" | "Stop"), _) => Incoming::Stop(payload.into()),
            (Some("userPromptSubmitted" | "UserPromptSubmit"), _) | (None, true) => {
                Incoming::Prompt { text: payload.prompt.unwrap_or_default() }
            }
            (Some("errorOccurred"), _) => Incoming::Error { name: payload.trouble() },
            (None, false) if is_stop => Incoming::Stop(payload.into()),
            (Some(_) | None, _) => Incoming::Other,
        }
    }

    fn say(&self, reply: &Reply) -> Said {
        common(reply, ("block", "userPromptSubmitted"))
    }

    fn line(&self, line: &[u8]) -> Line {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { return Line::Aside };
        let data = &record["data"];
        // The words of a sub-agent name the call that it belongs to.
        if data["parentToolCallId"].is_string() {
            return Line::Aside;
        }
        match record["type"].as_str() {
            Some("assistant.message") => own(data),
            Some("user.message") => Line::Prompted,
            Some(kind) if kind.starts_with("tool.") => Line::Work,
            Some(_) | None => Line::Aside,
        }
    }
}

fn own(data: &Value) -> Line {
    let text = data["content"].as_str().unwrap_or_default().to_owned();
    if text.is_empty() { Line::Work } else { Line::Own { message: String::new(), text } }
}
