//! GitHub Copilot CLI: how it is started, how its output is parsed, how its hooks are answered and installed.
mod hooks;
mod install;
mod launch;
mod record;
mod skill_prompt;
mod stream;
mod usage_file;

pub(crate) use stream::stream_parser;

pub(crate) use launch::CopilotAgent;
