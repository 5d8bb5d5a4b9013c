//! Agents: protocols, output streams, sessions, permissions and failures.
mod acp;
mod agent_commands;
mod agent_failures;
mod agent_sessions;
mod agent_streams;
mod output_filters;
mod permissions;
mod recorded_transcripts;
mod usage_file;
