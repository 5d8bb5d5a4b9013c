//! Codex: how `codex exec` is started, how its output is parsed, how its hooks are answered and installed.
mod hook_trust;
mod hooks;
mod install;
mod launch;
mod record;
mod stream;
mod text_transcript;

pub(crate) use stream::stream_parser;
pub(crate) use text_transcript::{SectionStart, TranscriptSections};

pub(crate) use launch::CodexAgent;
