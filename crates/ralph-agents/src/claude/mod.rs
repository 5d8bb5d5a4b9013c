//! Claude Code: how it is started, how its output is parsed, how its hooks are answered and installed.
pub(crate) mod context_line;
mod failure;
pub(crate) mod hooks;
mod install;
mod launch;
mod node_options;
mod record;
mod stream;
mod tool_result_skip;
mod usage;

pub(crate) use stream::{compatible_stream_parser, stream_parser};

pub(crate) use launch::ClaudeAgent;
