//! OpenCode: it has no hooks, but plugins. Ours tells of idle, errors and deleted sessions in words of our own, and
//! injects the prompt that comes back.
use std::ffi::OsString;

use serde_json::json;

use super::{Facts, Incoming, Line, Payload, Protocol, Reply, Said, Stop, Words, lines};

pub struct OpenCode;

impl Protocol for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn facts(&self, _variable: &dyn Fn(&str) -> Option<OsString>) -> Facts {
        Facts { block_cap: None, words: Words::InEvent, is_cumulative: false }
    }

    fn hear(&self, payload: Payload) -> Incoming {
        match payload.hook_event_name.as_deref() {
            Some("idle") => Incoming::Stop(Stop {
                message: payload.last_assistant_message,
                transcript: None,
                is_continued: false,
                marks: payload.prompt_id.into_iter().collect(),
            }),
            Some("error") => {
                Incoming::Error { name: payload.error.map(super::payload::Trouble::name).unwrap_or_default() }
            }
            Some("deleted") => Incoming::Deleted,
            Some("prompt") => Incoming::Prompt { text: payload.prompt.unwrap_or_default() },
            Some(_) | None => Incoming::Other,
        }
    }

    /// A toast has its parts; what is told behind it stands in its message.
    fn say(&self, reply: &Reply) -> Said {
        let (mut object, notices) = match reply {
            Reply::Allow { notices } => (json!({ "action": "stop" }), notices),
            Reply::Continue { prompt, notices, delay_ms } => {
                (json!({ "action": "continue", "prompt": prompt, "delay_ms": delay_ms }), notices)
            }
            Reply::Accompany { context, notices } => {
                (json!({ "action": "continue", "prompt": context, "delay_ms": 0 }), notices)
            }
            Reply::Answered { words, notices } => (json!({ "action": "stop", "message": words }), notices),
        };
        if let Some((first, rest)) = notices.split_first() {
            let mut toast = json!(first);
            if !rest.is_empty() {
                toast["message"] = format!("{}\n{}", first.message, lines(rest)).into();
            }
            object["toast"] = toast;
        }
        Said { stdout: format!("{object}\n"), exit_code: 0 }
    }

    /// There is no transcript: the plugin asks the program.
    fn line(&self, _line: &[u8]) -> Line {
        Line::Aside
    }
}
