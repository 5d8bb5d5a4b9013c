//! OpenCode: it has plugins instead of hooks. ralph's plugin reports idle, failed and deleted sessions in ralph's own
//! format and injects the prompt of the reply.
use std::ffi::OsString;

use serde_json::json;

use crate::hooks::{
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

    /// The first notice becomes a toast; further notices are appended to its message.
    fn render_reply(&self, reply: &HookReply) -> HookOutput {
        let (mut object, notices) = match reply {
            HookReply::Continue { prompt, notices } => (json!({ "action": "continue", "prompt": prompt }), notices),
            // The plugin sends no prompt events: it handles commands before they become prompts.
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

    /// OpenCode has no transcript: the plugin reads the messages from OpenCode.
    fn parse_transcript_line(&self, _line: &[u8]) -> TranscriptLine {
        TranscriptLine::Unrelated
    }
}
