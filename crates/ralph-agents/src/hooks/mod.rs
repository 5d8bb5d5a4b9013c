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

use ralph_core::attempt::Spend;
use ralph_core::session::{Cap, Notice};
use serde_json::{Map, Value, json};

use ralph_util::json::{self, Raw};

pub use payload::Payload;

/// What one program sends and wants to hear.
pub trait Protocol: Sync {
    fn name(&self) -> &'static str;

    /// Returns what is known of the program. `variable` looks up the environment.
    fn facts(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Facts;

    /// Returns what an event means.
    fn hear(&self, payload: Payload) -> Incoming;

    /// Returns what is printed for the program.
    fn say(&self, reply: &Reply) -> Said;

    /// Returns what a line of its transcript holds.
    fn line(&self, line: &[u8]) -> Line;

    /// Returns what a line of its transcript says about what was used. Most programs write nothing of it.
    fn used(&self, _line: &[u8]) -> Option<Used> {
        None
    }
}

/// What is known of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// How often in a row it lets a session be continued; nothing where it has no limit.
    pub block_cap: Option<Cap>,
    /// Where its messages are found.
    pub words: Words,
    /// Whether what it says of the last message repeats all messages of the turn.
    pub is_cumulative: bool,
    /// Whether its plugin puts prompts into a session, which must be at rest for a moment before.
    pub is_injected: bool,
}

impl Facts {
    /// What is true of most programs.
    const USUAL: Self =
        Self { block_cap: None, words: Words::InEvent, is_cumulative: false, is_injected: false };
}

/// Where the agent's last message is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// In the event; where it is missing there, in the transcript.
    InEvent,
    /// In the transcript; what the event says is only used where there is none.
    InTranscript,
}

/// How long a hook may take, which is written where it is installed; all programs let us say so.
pub const HOOK_SECONDS: u64 = 600;

/// What happened in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// The user sent a prompt.
    Prompt {
        text: String,
    },
    Stop(Stop),
    Error {
        name: String,
    },
    Deleted,
    /// Nothing that concerns a loop.
    Other,
}

/// The end of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stop {
    pub message: Option<String>,
    pub transcript: Option<PathBuf>,
    /// Whether the turn was a continuation itself.
    pub is_continued: bool,
    /// Names the turn. One that is continued may keep its name.
    pub turn: Option<String>,
    /// Names the last message.
    pub message_id: Option<String>,
}

impl From<Payload> for Stop {
    fn from(payload: Payload) -> Self {
        Self {
            message: payload.last_assistant_message,
            transcript: payload.transcript_path,
            is_continued: payload.stop_hook_active.unwrap_or_default(),
            turn: payload.prompt_id,
            message_id: payload.message_id,
        }
    }
}

/// What a program is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The session may stop, or go on as it likes.
    Allow { notices: Vec<Notice> },
    /// The session is continued with this prompt.
    Continue { prompt: String, notices: Vec<Notice> },
    /// A prompt of the user's goes on its way, and this with it.
    Accompany { context: String, notices: Vec<Notice> },
    /// A prompt of the user's was meant for ralph alone; this is the answer.
    Answered { words: String, notices: Vec<Notice> },
}

/// What is printed, and the exit code that goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub stdout: String,
    pub exit_code: u8,
}

/// What a line of a transcript holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Own words of the agent; pieces with the same message belong together. Without a message they are whole.
    Own { message: String, text: String },
    /// The agent did something, or heard what came of it.
    Work,
    /// Somebody else spoke to it: what stands before belongs to an earlier turn.
    Prompted,
    /// Nothing of the conversation, or of another one.
    Aside,
}

/// What one message used. A message may be told of several times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    pub message: String,
    pub at: String,
    pub spend: Spend,
}

impl Used {
    /// Makes it of the members of a record, where they tell anything.
    fn of([message, at]: [Option<Raw<'_>>; 2], [input, output]: [Option<Raw<'_>>; 2]) -> Option<Self> {
        let (input_tokens, output_tokens) = (json::count(input), json::count(output));
        (input_tokens.is_some() || output_tokens.is_some()).then(|| Self {
            message: json::string(message).unwrap_or_default(),
            at: json::string(at).unwrap_or_default(),
            spend: Spend { input_tokens, output_tokens, cost_micros: None },
        })
    }
}

/// Picks members of a line that holds a word at all: most lines do not, and nothing of them is read.
fn pick_with<'a, const N: usize>(line: &'a [u8], word: &str, keys: [&str; N]) -> [Option<Raw<'a>>; N] {
    let is_told = memchr::memmem::find(line, word.as_bytes()).is_some();
    json::pick_in(Some(line).filter(|_| is_told), keys)
}

/// All programs.
pub static HOSTS: &[&dyn Protocol] =
    &[&claude::Claude, &codex::Codex, &gemini::Gemini, &qwen::Qwen, &copilot::Copilot, &opencode::OpenCode];

/// Returns a program by its name.
#[must_use]
pub fn protocol(name: &str) -> Option<&'static dyn Protocol> {
    HOSTS.iter().copied().find(|host| host.name() == name)
}

/// Writes a reply in the form that most programs share; they differ in the word for "go on" and in the event of prompts.
fn common(reply: &Reply, (go_on, prompt_event): (&str, &str)) -> Said {
    let mut object = Map::new();
    let notices = match reply {
        Reply::Allow { notices } => notices,
        Reply::Continue { prompt, notices } => {
            object.insert("decision".to_owned(), go_on.into());
            object.insert("reason".to_owned(), prompt.as_str().into());
            notices
        }
        Reply::Accompany { context, notices } => {
            let context = json!({ "hookEventName": prompt_event, "additionalContext": context });
            object.insert("hookSpecificOutput".to_owned(), context);
            notices
        }
        Reply::Answered { words, notices } => {
            object.insert("decision".to_owned(), go_on.into());
            object.insert("reason".to_owned(), words.as_str().into());
            notices
        }
    };
    if !notices.is_empty() {
        object.insert("systemMessage".to_owned(), lines(notices).into());
    }
    Said { stdout: format!("{}\n", Value::Object(object)), exit_code: 0 }
}

/// Returns notices for a place that has room for lines only.
fn lines(notices: &[Notice]) -> String {
    notices.iter().map(Notice::line).collect::<Vec<_>>().join("\n")
}

/// Reads the limit that the user has set for continuations in a row.
fn cap_of(variable: &dyn Fn(&str) -> Option<OsString>, name: &str, usual: Cap) -> Cap {
    let set = variable(name).and_then(|value| value.to_str()?.trim().parse().ok());
    Cap { most: set.filter(|most| *most > 0).unwrap_or(usual.most), ..usual }
}
