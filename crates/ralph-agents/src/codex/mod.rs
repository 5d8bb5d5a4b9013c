//! Codex: how `codex exec` is started. Its output is parsed in [`stream`].
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
