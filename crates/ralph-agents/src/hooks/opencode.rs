//! OpenCode: it has no hooks, but plugins. Ours tells of idle, errors and deleted sessions in words of our own, and
//! injects the prompt that comes back.
use std::ffi::OsString;

use serde_json::json;

use super::{Facts, Incoming, Line, Payload, Protocol, Reply, Said, lines};

pub struct OpenCode;

impl Protocol for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn facts(&self, _variable: &dyn Fn(&str) -> Option<OsString>) -> Facts {
        Facts { is_injected: true, ..Facts::USUAL }
    }

    fn hear(&self, payload: Payload) -> Incoming {
        match payload.hook_event_name.as_deref() {
            Some("idle") => Incoming::Stop(payload.into()),
            Some("error") => Incoming::Error { name: payload.trouble() },
            Some("deleted") => Incoming::Deleted,
            Some(_) | None => Incoming::Other,
        }
    }

    /// A toast has its parts; what is told behind it stands in its message.
    fn say(&self, reply: &Reply) -> Said {
        let (mut object, notices) = match reply {
            Reply::Continue { prompt, notices } => {
                (json!({ "action": "continue", "prompt": prompt }), notices)
            }
            // Prompts are not shown to it: the plugin hands commands over before they become one.
            Reply::Allow { notices } | Reply::Accompany { notices, .. } | Reply::Answered { notices, .. } => {
                (json!({ "action": "stop" }), notices)
            }
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
