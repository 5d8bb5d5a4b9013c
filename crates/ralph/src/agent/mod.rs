//! The agents: how each coding program is started, and how its output becomes plain facts.
//! Pure: this room starts no process, opens no file and reads no clock. It never decides anything.
mod amp;
mod classify;
mod claude;
mod cline;
mod codex;
mod demo;
mod detail;
mod display;
mod event;
mod filter;
mod filtered;
mod format;
mod job;
mod json;
mod lines;
mod members;
mod opencode;
mod parser;
mod preset;
mod registry;
mod render;
mod serve;
mod text;
mod voice;

#[cfg(test)]
mod tests;

pub use classify::session_is_lost;
pub use display::DisplayLines;
pub use event::{AgentEvent, ErrorKind};
pub use filter::{FILTER_COMMAND, FILTER_MEMORY_MB, Filter, FilterError, Yield};
pub use filtered::FilteredReader;
pub use format::{Format, UnknownFormat};
pub use job::{Invocation, Job, Permission, StdinText};
pub use parser::{Counts, Parser, parser};
pub use preset::{Overrides, Preset};
pub use registry::{AGENTS, Agent, PoliteSignal, Program, UnknownAgent, find};
pub use render::render;
pub use serve::serve;
