//! Hooks: the protocol by which a program in whose session a loop runs sends events and receives replies. The `hooks.rs` of each
//! program implements it. A protocol only translates; it decides nothing.
mod payload;

use std::ffi::OsString;
use std::path::PathBuf;

use ralph_core::attempt::ModelSpend;
use ralph_core::session_loop::{ContinuationCap, SessionNotice};
use serde_json::{Map, Value, json};

use crate::AGENTS;
use ralph_util::json::{self, RawJson};

pub use payload::HookPayload;

/// The hook protocol of one program.
pub trait HookProtocol: Sync {
    fn name(&self) -> &'static str;

    /// Returns the properties of the program. `variable` looks up an environment variable.
    fn capabilities(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> HostCapabilities;

    /// Returns the meaning of an event.
    fn parse_event(&self, payload: HookPayload) -> HookEvent;

    /// Returns the output for the program.
    fn render_reply(&self, reply: &HookReply) -> HookOutput;

    /// Parses a line of its transcript.
    fn parse_transcript_line(&self, line: &[u8]) -> TranscriptLine;

    /// Returns the usage in a line of its transcript. Some programs do not record usage.
    fn parse_usage(&self, _line: &[u8]) -> Option<MessageUsage> {
        None
    }
}

/// The properties of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCapabilities {
    /// How often in a row a session can be continued; `None` means no limit.
    pub continuation_cap: Option<ContinuationCap>,
    /// Where the last message is found.
    pub message_source: MessageSource,
    /// Whether the last message in the event contains all messages of the turn.
    pub is_message_cumulative: bool,
    /// Whether its plugin injects prompts into a session; ralph then waits `continuation_delay` first.
    pub injects_prompts: bool,
}

impl HostCapabilities {
    /// The properties of most programs.
    pub(crate) const DEFAULT: Self = Self {
        continuation_cap: None,
        message_source: MessageSource::InEvent,
        is_message_cumulative: false,
        injects_prompts: false,
    };
}

/// Where the agent's last message is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSource {
    /// In the event, or in the transcript if the event has none.
    InEvent,
    /// In the transcript, or in the event if the host has no transcript.
    InTranscript,
}

/// The default timeout of a hook. `ralph install` writes it to the program's settings.
pub const HOOK_TIMEOUT_SECONDS: u64 = 600;

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEvent {
    /// The user sent a prompt.
    Prompt {
        text: String,
    },
    Stop(TurnStop),
    Error {
        name: String,
    },
    Deleted,
    /// An event that does not concern a loop.
    Other,
}

/// The end of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnStop {
    pub message: Option<String>,
    pub transcript: Option<PathBuf>,
    /// Whether the turn was itself a continuation.
    pub is_continuation: bool,
    /// The id of the turn. A continued turn may keep its id.
    pub turn_id: Option<String>,
    /// The id of the last message.
    pub message_id: Option<String>,
}

impl From<HookPayload> for TurnStop {
    fn from(payload: HookPayload) -> Self {
        Self {
            message: payload.last_assistant_message,
            transcript: payload.transcript_path,
            is_continuation: payload.stop_hook_active.unwrap_or_default(),
            turn_id: payload.prompt_id,
            message_id: payload.message_id,
        }
    }
}

/// The reply to a hook event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookReply {
    /// Lets the host proceed.
    Allow { notices: Vec<SessionNotice> },
    /// Continues the session with this prompt.
    Continue { prompt: String, notices: Vec<SessionNotice> },
    /// Passes the user's prompt to the agent with this additional context.
    AddContext { context: String, notices: Vec<SessionNotice> },
    /// Blocks the user's prompt, which was a command for ralph, and shows this answer.
    Answered { text: String, notices: Vec<SessionNotice> },
}

/// The output of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutput {
    pub stdout: String,
    pub exit_code: u8,
}

/// The content of a transcript line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptLine {
    /// Agent text. Lines with the same message id belong to one message; without an id the message is complete.
    AgentText { message: String, text: String },
    /// A tool call or a tool result.
    Activity,
    /// A prompt: earlier lines belong to a previous turn.
    Prompted,
    /// Not part of this conversation.
    Unrelated,
}

/// The usage of one message. The same message may be reported several times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageUsage {
    pub message_id: String,
    pub timestamp: String,
    pub spend: ModelSpend,
}

impl MessageUsage {
    /// Creates it from the members of a record. Returns `None` if they contain no token count.
    pub(crate) fn from_members(
        [message, at]: [Option<RawJson<'_>>; 2],
        [input, output]: [Option<RawJson<'_>>; 2],
    ) -> Option<Self> {
        let (input_tokens, output_tokens) = (json::parse_u64(input), json::parse_u64(output));
        (input_tokens.is_some() || output_tokens.is_some()).then(|| Self {
            message_id: json::decode_string(message).unwrap_or_default(),
            timestamp: json::decode_string(at).unwrap_or_default(),
            spend: ModelSpend { input_tokens, output_tokens, cost_micros: None },
        })
    }
}

/// Picks members of a line that contains `marker`. Most lines do not, and are not parsed.
pub(crate) fn pick_members_if_contains<'a, const N: usize>(
    line: &'a [u8],
    marker: &str,
    keys: [&str; N],
) -> [Option<RawJson<'a>>; N] {
    let has_marker = memchr::memmem::find(line, marker.as_bytes()).is_some();
    json::pick_members_or_none(Some(line).filter(|_| has_marker), keys)
}

/// Returns the hook protocols of all programs that have one.
pub fn hook_protocols() -> impl Iterator<Item = &'static dyn HookProtocol> {
    AGENTS.iter().filter_map(|agent| agent.hook_protocol())
}

/// Returns the hook protocol of the program with this name.
#[must_use]
pub fn find_hook_protocol(name: &str) -> Option<&'static dyn HookProtocol> {
    hook_protocols().find(|host| host.name() == name)
}

/// Renders a reply in the format that most programs share. They differ in the decision that continues a session and in
/// the name of the prompt event.
pub(crate) fn render_common_reply(reply: &HookReply, block_decision: &str, prompt_event: &str) -> HookOutput {
    let mut object = Map::new();
    let notices = match reply {
        HookReply::Allow { notices } => notices,
        HookReply::Continue { prompt, notices } => {
            object.insert("decision".to_owned(), block_decision.into());
            object.insert("reason".to_owned(), prompt.as_str().into());
            notices
        }
        HookReply::AddContext { context, notices } => {
            let context = json!({ "hookEventName": prompt_event, "additionalContext": context });
            object.insert("hookSpecificOutput".to_owned(), context);
            notices
        }
        HookReply::Answered { text, notices } => {
            object.insert("decision".to_owned(), block_decision.into());
            object.insert("reason".to_owned(), text.as_str().into());
            notices
        }
    };
    if !notices.is_empty() {
        object.insert("systemMessage".to_owned(), join_notices(notices).into());
    }
    HookOutput { stdout: format!("{}\n", Value::Object(object)), exit_code: 0 }
}

/// Returns the notices as plain lines.
pub(crate) fn join_notices(notices: &[SessionNotice]) -> String {
    notices.iter().map(SessionNotice::to_line).collect::<Vec<_>>().join("\n")
}

/// Returns the continuation limit that the user has set in an environment variable, or the default.
pub(crate) fn configured_block_cap(
    variable: &dyn Fn(&str) -> Option<OsString>,
    name: &str,
    default: ContinuationCap,
) -> ContinuationCap {
    let configured = variable(name).and_then(|value| value.to_str()?.trim().parse().ok());
    let max_continuations = configured.filter(|max| *max > 0).unwrap_or(default.max_continuations);
    ContinuationCap { max_continuations, ..default }
}
