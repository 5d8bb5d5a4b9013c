//! The programs in whose sessions a loop can run: one file each, with what it sends to a hook and what it wants to hear.
//! A protocol translates and decides nothing.
mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod payload;
mod qwen;

use std::ffi::OsString;
use std::path::PathBuf;

use ralph_core::attempt::ModelSpend;
use ralph_core::session_loop::{ContinuationCap, SessionNotice};
use serde_json::{Map, Value, json};

use ralph_util::json::{self, RawJson};

pub use payload::HookPayload;

/// What one program sends and wants to hear.
pub trait HookProtocol: Sync {
    fn name(&self) -> &'static str;

    /// Returns what is known of the program. `variable` looks up the environment.
    fn capabilities(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> HostCapabilities;

    /// Returns what an event means.
    fn parse_event(&self, payload: HookPayload) -> HookEvent;

    /// Returns what is printed for the program.
    fn render_reply(&self, reply: &HookReply) -> HookOutput;

    /// Returns what a line of its transcript holds.
    fn parse_transcript_line(&self, line: &[u8]) -> TranscriptLine;

    /// Returns what a line of its transcript says about what was used. Most programs write nothing of it.
    fn parse_usage(&self, _line: &[u8]) -> Option<MessageUsage> {
        None
    }
}

/// What is known of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCapabilities {
    /// How often in a row it lets a session be continued; nothing where it has no limit.
    pub block_cap: Option<ContinuationCap>,
    /// Where its messages are found.
    pub message_source: MessageSource,
    /// Whether what it says of the last message repeats all messages of the turn.
    pub is_message_cumulative: bool,
    /// Whether its plugin puts prompts into a session, which must be at rest for a moment before.
    pub injects_prompts: bool,
}

impl HostCapabilities {
    /// What is true of most programs.
    const DEFAULT: Self = Self {
        block_cap: None,
        message_source: MessageSource::InEvent,
        is_message_cumulative: false,
        injects_prompts: false,
    };
}

/// Where the agent's last message is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSource {
    /// In the event; where it is missing there, in the transcript.
    InEvent,
    /// In the transcript; what the event says is only used where there is none.
    InTranscript,
}

/// How long a hook may take, which is written where it is installed; all programs let us say so.
pub const HOOK_TIMEOUT_SECONDS: u64 = 600;

/// What happened in a session.
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
    /// Nothing that concerns a loop.
    Other,
}

/// The end of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnStop {
    pub message: Option<String>,
    pub transcript: Option<PathBuf>,
    /// Whether the turn was a continuation itself.
    pub is_continuation: bool,
    /// Names the turn. One that is continued may keep its name.
    pub turn_id: Option<String>,
    /// Names the last message.
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

/// What a program is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookReply {
    /// The session may stop, or go on as it likes.
    Allow { notices: Vec<SessionNotice> },
    /// The session is continued with this prompt.
    Continue { prompt: String, notices: Vec<SessionNotice> },
    /// A prompt of the user's goes on its way, and this with it.
    AddContext { context: String, notices: Vec<SessionNotice> },
    /// A prompt of the user's was meant for ralph alone; this is the answer.
    Answered { text: String, notices: Vec<SessionNotice> },
}

/// What is printed, and the exit code that goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutput {
    pub stdout: String,
    pub exit_code: u8,
}

/// What a line of a transcript holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptLine {
    /// Own words of the agent; pieces with the same message belong together. Without a message they are whole.
    AgentText { message: String, text: String },
    /// The agent did something, or heard what came of it.
    Activity,
    /// Somebody else spoke to it: what stands before belongs to an earlier turn.
    Prompted,
    /// Nothing of the conversation, or of another one.
    Unrelated,
}

/// What one message used. A message may be told of several times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageUsage {
    pub message_id: String,
    pub timestamp: String,
    pub spend: ModelSpend,
}

impl MessageUsage {
    /// Makes it of the members of a record, where they tell anything.
    fn from_members(
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

/// Picks members of a line that holds a word at all: most lines do not, and nothing of them is read.
fn pick_members_if_contains<'a, const N: usize>(
    line: &'a [u8],
    word: &str,
    keys: [&str; N],
) -> [Option<RawJson<'a>>; N] {
    let is_told = memchr::memmem::find(line, word.as_bytes()).is_some();
    json::pick_members_or_none(Some(line).filter(|_| is_told), keys)
}

/// All programs.
pub static HOOK_PROTOCOLS: &[&dyn HookProtocol] = &[
    &claude::ClaudeHooks,
    &codex::CodexHooks,
    &gemini::GeminiHooks,
    &qwen::QwenHooks,
    &copilot::CopilotHooks,
    &opencode::OpencodeHooks,
];

/// Returns a program by its name.
#[must_use]
pub fn find_hook_protocol(name: &str) -> Option<&'static dyn HookProtocol> {
    HOOK_PROTOCOLS.iter().copied().find(|host| host.name() == name)
}

/// Writes a reply in the form that most programs share; they differ in the word for "go on" and in the event of prompts.
fn render_common_reply(reply: &HookReply, (go_on, prompt_event): (&str, &str)) -> HookOutput {
    let mut object = Map::new();
    let notices = match reply {
        HookReply::Allow { notices } => notices,
        HookReply::Continue { prompt, notices } => {
            object.insert("decision".to_owned(), go_on.into());
            object.insert("reason".to_owned(), prompt.as_str().into());
            notices
        }
        HookReply::AddContext { context, notices } => {
            let context = json!({ "hookEventName": prompt_event, "additionalContext": context });
            object.insert("hookSpecificOutput".to_owned(), context);
            notices
        }
        HookReply::Answered { text: words, notices } => {
            object.insert("decision".to_owned(), go_on.into());
            object.insert("reason".to_owned(), words.as_str().into());
            notices
        }
    };
    if !notices.is_empty() {
        object.insert("systemMessage".to_owned(), join_notices(notices).into());
    }
    HookOutput { stdout: format!("{}\n", Value::Object(object)), exit_code: 0 }
}

/// Returns notices for a place that has room for lines only.
fn join_notices(notices: &[SessionNotice]) -> String {
    notices.iter().map(SessionNotice::to_line).collect::<Vec<_>>().join("\n")
}

/// Reads the limit that the user has set for continuations in a row.
fn configured_block_cap(
    variable: &dyn Fn(&str) -> Option<OsString>,
    name: &str,
    usual: ContinuationCap,
) -> ContinuationCap {
    let set = variable(name).and_then(|value| value.to_str()?.trim().parse().ok());
    ContinuationCap { max_continuations: set.filter(|most| *most > 0).unwrap_or(usual.max_continuations), ..usual }
}
