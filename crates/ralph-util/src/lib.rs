//! Utilities for every crate above `ralph-core`: private files, redaction, units, safe terminal text, JSON and YAML
//! access. Nothing here depends on runs, agents or tasks.
pub mod amounts;
pub mod bounded_lines;
pub mod digest;
pub mod duration;
pub mod failpoints;
pub mod hmac;
pub mod json;
pub mod memory_size;
pub mod private_files;
pub mod redact;
pub mod sanitize;
pub mod session_log_file;
pub mod shell_words;
pub mod suggest;
pub mod user_folders;
pub mod yaml;
