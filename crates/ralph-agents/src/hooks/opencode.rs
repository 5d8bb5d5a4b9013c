//! OpenCode: it has no hooks, but plugins. Ours tells of idle, errors and deleted sessions in words of our own, and
//! injects the prompt that comes back.
use std::ffi::OsString;

use serde_json::json;

use super::{
    HookEvent, HookOutput, HookPayload, HookProtocol, HookReply, HostCapabilities, TranscriptLine, join_notices,
};

pub struct OpencodeHooks;

impl HookProtocol for OpencodeHooks {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn capabilities(&self, _variable: &dyn Fn(&str) -> Option<OsString>) -> HostCapabilities {
        HostCapabilities { injects_prompts: true, ..HostCapabilities::DEFAULT }
    }

    fn parse_event(&self, payload: HookPayload) -> HookEvent {
        match payload.hook_event_name.as_deref() {
            Some("idle") => HookEvent::Stop(payload.into()),
            Some("error") => HookEvent::Error { name: payload.into_error_name() },
            Some("deleted") => HookEvent::Deleted,
            Some(_) | None => HookEvent::Other,
        }
    }

    /// A toast has its parts; what is told behind it stands in its message.
    fn render_reply(&self, reply: &HookReply) -> HookOutput {
        let (mut object, notices) = match reply {
            HookReply::Continue { prompt, notices } => (json!({ "action": "continue", "prompt": prompt }), notices),
            // Prompts are not shown to it: the plugin hands commands over before they become one.
            HookReply::Allow { notices }
            | HookReply::AddContext { notices, .. }
            | HookReply::Answered { notices, .. } => (json!({ "action": "stop" }), notices),
        };
        if let Some((first, rest)) = notices.split_first() {
            let mut toast = json!(first);
            if !rest.is_empty() {
                toast["message"] = format!("{}\n{}", first.message, join_notices(rest)).into();
            }
            object["toast"] = toast;
        }
        HookOutput { stdout: format!("{object}\n"), exit_code: 0 }
    }

    /// There is no transcript: the plugin asks the program.
    fn parse_transcript_line(&self, _line: &[u8]) -> TranscriptLine {
        TranscriptLine::Unrelated
    }
}
