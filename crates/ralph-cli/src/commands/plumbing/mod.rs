//! Commands for scripts, files and other programs.
pub mod backup;
pub mod complete_ids;
pub mod completions;
pub mod demo_agent;
pub mod detect;
pub mod export;
pub mod filter_lines;
pub mod gc;
pub mod import;
pub mod man;
pub mod mcp;
