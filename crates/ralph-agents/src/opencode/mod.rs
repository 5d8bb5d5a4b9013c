//! OpenCode: how `opencode run` is started and how its output is parsed. The final record is a step that did not end
//! with tool calls.
mod hooks;
mod install;
mod launch;

pub(crate) use launch::{OpencodeAgent, stream_parser};
