//! The supported agents: which are installed, and what their recorded output contains.
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use ralph_agents::detect_installed::{AgentPresence, detect_agent};
use ralph_agents::replay_output::read_events;
use ralph_agents::{AGENTS, Agent, AgentEvent, AgentExit, AttemptSummary, AttemptSummaryBuilder, find_agent};
use ralph_engine::run_driver::Clock;

use crate::error::{AppError, AppResult, ErrorKind};

/// A supported agent, and whether it is installed.
pub struct AgentListItem {
    pub agent: &'static dyn Agent,
    pub presence: AgentPresence,
}

impl AgentListItem {
    /// Returns the version, if it is known without starting the agent.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match &self.presence {
            AgentPresence::Installed { version, .. } => version.as_deref(),
            AgentPresence::BuiltIn => Some(env!("CARGO_PKG_VERSION")),
            AgentPresence::Missing | AgentPresence::Broken { .. } | AgentPresence::UserProvided => None,
        }
    }
}

/// Returns all agents as a start from this folder would find them. Does not start them.
#[must_use]
pub fn list_agents(folder: &Path) -> Vec<AgentListItem> {
    AGENTS.iter().map(|agent| AgentListItem { agent: *agent, presence: detect_agent(*agent, folder) }).collect()
}

/// Returns the agent with this name. The error suggests known agents.
pub fn find_supported_agent(name: &str) -> AppResult<&'static dyn Agent> {
    find_agent(name).map_err(|error| {
        let hint = error.hint();
        AppError::from_error(ErrorKind::InvalidRequest, &error).with_advice(hint)
    })
}

/// Parses an agent's output, passes its events to `on_events` until it breaks, and returns the attempt.
///
/// A negative exit code is the number of the signal that killed the agent. Without an exit code, only the output decides.
pub fn parse_agent_output(
    agent: &dyn Agent,
    exit_code: Option<i32>,
    output: &mut dyn Read,
    mut on_events: impl FnMut(&[AgentEvent]) -> ControlFlow<()>,
) -> io::Result<AttemptSummary> {
    let mut summary = AttemptSummaryBuilder::default();
    let counts = read_events(agent.output_format(), output, &mut |events| {
        events.iter().for_each(|event| summary.record_event(event));
        on_events(events)
    })?;
    let exit = match exit_code {
        None => AgentExit::Unknown,
        Some(signal @ ..0) => AgentExit::Signal(signal.saturating_neg()),
        Some(code) => AgentExit::Code(code),
    };
    Ok(summary.into_summary(agent, counts, exit, &Clock::local_now()))
}
