//! Qwen Code. Its output has the same format as Claude's, without a cost. It also writes API errors as if they were
//! agent text.
mod hooks;
mod install;
mod launch;

pub(crate) use launch::{QwenAgent, stream_parser};
