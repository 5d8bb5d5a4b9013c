//! Gemini CLI: how it is started, how its output is parsed, how its hooks are answered and installed.
mod hooks;
mod install;
mod launch;
mod retry_notice;
mod stream;

pub(crate) use stream::stream_parser;

pub(crate) use launch::GeminiAgent;
