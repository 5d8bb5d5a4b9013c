//! Adapters for the coding agents: how each agent is started, how its output is parsed into events, and how ralph is
//! installed into it. The parsers are pure: they start no process, open no file and read no clock.
mod acp;
mod amp;
mod attempt_summary;
mod claim_feed;
mod classify;
mod claude;
mod cline;
mod codex;
mod copilot;
mod demo;
pub mod detect_installed;
mod display_lines;
mod event;
mod fatal_error;
mod filter_server;
mod filtered_reader;
mod gemini;
mod goose;
pub mod hooks;
mod infer_failure;
pub mod install;
mod jq_filter;
mod launch;
mod limit_reset;
mod line_splitter;
mod members;
mod message_numbering;
mod opencode;
mod output_format;
mod parser;
mod permission;
mod preflight;
mod preset;
mod profile;
mod qwen;
mod registry;
mod render;
pub mod replay_output;
mod self_test;
mod spec;
mod stderr_notices;
mod text;
mod tool_summary;
mod usage_totals;

#[cfg(test)]
mod tests;

pub use attempt_summary::{AttemptError, AttemptSummary, AttemptSummaryBuilder};
pub use claim_feed::feed_claim_finder;
pub use classify::{is_lost_session_message, kind_from_stderr_line};
pub use display_lines::DisplayLines;
pub use event::{AgentErrorKind, AgentEvent, AgentFailure};
pub use filter_server::serve_filter;
pub use filtered_reader::FilteredReader;
pub use infer_failure::{AgentExit, ExitContext, FinalRecord, infer_failure};
pub use jq_filter::{FILTER_MEMORY_MB, FILTER_SUBCOMMAND, FilterError, FilterOutput, JqFilter};
pub use launch::{AgentInvocation, LaunchRequest, StdinText, is_inside_agent_session};
pub use limit_reset::LimitReset;
pub use output_format::{OutputFormat, UnknownOutputFormat};
pub use parser::{
    ConversationRequest, PendingStdin, PriorUsage, RecordCounts, StdinDisposition, StreamParser, parser_for_format,
};
pub use permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel, UnknownPermissionLevel};
pub use preflight::{LaunchBlocker, LaunchEnvironment};
pub use preset::{AgentPreset, PresetOverrides};
pub use profile::{AdvisorySeverity, AgentAdvisory, AgentProfile, AgentVersion, DiagnosticContext};
pub use registry::{
    AGENTS, Agent, AgentProgram, ExitMeaning, GracefulSignal, SessionSupport, UnknownAgent, find_agent,
};
pub use render::render_event;
pub use self_test::run_self_test;
pub use spec::AgentSpec;
pub use stderr_notices::StderrNotices;
