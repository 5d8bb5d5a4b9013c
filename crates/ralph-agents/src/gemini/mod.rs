//! Gemini CLI: how it is started in headless mode. Its output is parsed in [`stream`].
mod hooks;
mod install;
mod launch;
mod retry_notice;
mod stream;

pub(crate) use stream::stream_parser;

pub(crate) use launch::GeminiAgent;
