//! GitHub Copilot CLI: how it is started in headless mode. Its output is parsed in [`stream`].
mod hooks;
mod install;
mod launch;
mod record;
mod stream;
mod usage_file;

pub(crate) use stream::stream_parser;

pub(crate) use launch::CopilotAgent;
