//! Parsing of agent output that all programs share: lines, messages, events, claims and their rendering.
pub(crate) mod attempt_summary;
pub(crate) mod claim_feed;
pub(crate) mod context_use;
pub(crate) mod display_lines;
pub(crate) mod event;
pub(crate) mod line_splitter;
pub(crate) mod members;
pub(crate) mod message_numbering;
pub(crate) mod open_tool_calls;
pub(crate) mod output_format;
pub(crate) mod parser;
pub(crate) mod render;
pub mod replay_output;
pub(crate) mod stderr_notices;
pub(crate) mod tool_summary;
pub(crate) mod usage_totals;
