//! Adapters for the coding agents: how each agent is started, how its output is parsed into events, and how ralph is
//! installed into it. The parsers are pure: they start no process, open no file and read no clock.
mod acp;
mod amp;
mod claude;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod demo;
pub mod detect_installed;
mod failure;
mod filter;
mod gemini;
mod goose;
mod grok;
pub mod hooks;
pub mod install;
mod launch;
mod opencode;
mod pi;
mod profile;
pub mod program_repair;
mod qwen;
mod registry;
mod self_test;
mod spec;
mod stream;
mod text;
pub mod version_cache;

#[cfg(test)]
mod tests;

pub use failure::classify::{is_lost_session_message, kind_from_stderr_line};
pub use failure::infer_failure::{AgentExit, ExitContext, FinalRecord, infer_failure};
pub use failure::limit_reset::LimitReset;
pub use filter::filter_server::serve_filter;
pub use filter::filtered_reader::FilteredReader;
pub use filter::jq_filter::{FILTER_MEMORY_MB, FILTER_SUBCOMMAND, FilterError, FilterOutput, JqFilter};
pub use launch::invocation::{AgentInvocation, LaunchRequest, StdinText, belongs_to_session, is_inside_agent_session};
pub use launch::node_options::{NodeOptionArgs, UnsupportedOption, is_deny_hook};
pub use launch::permission::{
    DefaultGrant, GrantArgs, PermissionGrant, PermissionGrants, PermissionLevel, UnknownPermissionLevel, WorkGrant,
};
pub use launch::preflight::{LaunchBlocker, LaunchEnvironment};
pub use launch::preset::{AgentPreset, PresetOverrides};
pub use launch::work_scope::{FileAccess, WorkScope};
pub use profile::{
    AdvisorySeverity, AgentAdvisory, AgentProfile, AgentRemedy, AgentVersion, DiagnosticContext, InstallMethod,
};
pub use registry::{
    AGENTS, Agent, AgentProgram, ExitMeaning, GracefulSignal, SessionSupport, UnknownAgent, find_agent,
};
pub use self_test::run_self_test;
pub use spec::AgentSpec;
pub use stream::attempt_summary::{AttemptError, AttemptSummary, AttemptSummaryBuilder};
pub use stream::claim_feed::feed_claim_finder;
pub use stream::context_use::ContextUse;
pub use stream::display_lines::DisplayLines;
pub use stream::event::{AgentErrorKind, AgentEvent, AgentFailure};
pub use stream::output_format::{OutputFormat, UnknownOutputFormat};
pub use stream::parser::{
    ConversationRequest, PendingStdin, PriorUsage, RecordCounts, StdinDisposition, StreamParser, parser_for_format,
};
pub use stream::render::render_event;
pub use stream::replay_output;
pub use stream::stderr_notices::StderrNotices;
