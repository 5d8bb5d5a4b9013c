//! The agents: how each coding program is started, and how its output becomes plain facts.
//! Pure: this room starts no process, opens no file and reads no clock. It never decides anything.
mod amp;
mod classify;
mod claude;
mod cline;
mod codex;
mod copilot;
mod demo;
mod detail;
mod display;
mod event;
mod failing;
mod filter;
mod filtered;
mod format;
mod gemini;
mod goose;
mod grant;
mod job;
mod json;
mod lines;
mod members;
mod obstacle;
mod opencode;
mod parser;
mod preset;
mod qwen;
mod registry;
mod render;
mod reset;
mod serve;
mod summary;
mod text;
mod totals;
mod voice;

#[cfg(test)]
mod tests;

pub use classify::session_is_lost;
pub use display::DisplayLines;
pub use event::{AgentEvent, ErrorKind};
pub use filter::{FILTER_COMMAND, FILTER_MEMORY_MB, Filter, FilterError, Yield};
pub use filtered::FilteredReader;
pub use format::{Format, UnknownFormat};
pub use grant::{Grant, Grants, Permission, UnknownPermission, Usual};
pub use job::{Invocation, Job, StdinText};
pub use obstacle::{Obstacle, Surroundings};
pub use parser::{Before, Counts, Parser, parser};
pub use preset::{Overrides, Preset};
pub use registry::{AGENTS, Agent, PoliteSignal, Program, Sessions, UnknownAgent, find};
pub use render::render;
pub use reset::Reset;
pub use serve::serve;
pub use summary::{Attempt, AttemptError, CUT_OFF, Exit, Summary};
