//! The supported agents: which are installed, and what their recorded output contains.
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use ralph_agents::detect_installed::{AgentPresence, detect_agent, npm_package_version};
use ralph_agents::replay_output::read_events;
use ralph_agents::version_cache::VersionCache;
use ralph_agents::{AGENTS, Agent, AgentEvent, AgentExit, AttemptSummary, AttemptSummaryBuilder, find_agent};
use ralph_agents::{AgentProgram, AgentVersion};
use ralph_engine::run_driver::{AgentChoice, Clock, RunPlan};
use ralph_process as process;
use ralph_util::user_folders;

use crate::error::{AppError, AppResult, ErrorKind};

/// A supported agent, and whether it is installed.
pub struct AgentListItem {
    pub agent: &'static dyn Agent,
    pub presence: AgentPresence,
    /// The version that the agent printed when it was last diagnosed.
    diagnosed_version: Option<String>,
}

impl AgentListItem {
    /// Returns the version, if it is known without starting the agent.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match &self.presence {
            AgentPresence::Installed { version, .. } => version.as_deref().or(self.diagnosed_version.as_deref()),
            AgentPresence::BuiltIn => Some(env!("CARGO_PKG_VERSION")),
            AgentPresence::Missing | AgentPresence::Broken { .. } | AgentPresence::UserProvided => None,
        }
    }
}

/// Returns all agents as a start from this folder would find them. Does not start them.
#[must_use]
pub fn list_agents(folder: &Path) -> Vec<AgentListItem> {
    let cache = load_version_cache();
    let list_item = |agent: &&'static dyn Agent| {
        let presence = detect_agent(*agent, folder);
        let diagnosed_version = match &presence {
            AgentPresence::Installed { path, .. } => cache.find_version(path).map(str::to_owned),
            AgentPresence::Missing
            | AgentPresence::Broken { .. }
            | AgentPresence::BuiltIn
            | AgentPresence::UserProvided => None,
        };
        AgentListItem { agent: *agent, presence, diagnosed_version }
    };
    AGENTS.iter().map(list_item).collect()
}

/// Loads the versions that `ralph doctor` has seen. Without a state folder there are none.
pub(crate) fn load_version_cache() -> VersionCache {
    let folder = user_folders::find_state_folder(|name| std::env::var_os(name));
    folder.map(|folder| VersionCache::load(&folder)).unwrap_or_default()
}

/// Describes each agent of a run whose version is newer than the newest tested one, or whose adapter was never run with
/// the real program. Starts no program.
#[must_use]
pub fn describe_untested_agents(plan: &RunPlan) -> Vec<String> {
    let cache = load_version_cache();
    plan.context.all_agents().filter_map(|agent| describe_untested_agent(plan, agent, &cache)).collect()
}

fn describe_untested_agent(plan: &RunPlan, choice: &AgentChoice, cache: &VersionCache) -> Option<String> {
    let profile = choice.adapter.profile();
    if profile.tested_version.is_none() && matches!(choice.adapter.program(), AgentProgram::OnPath(_)) {
        return Some(format!("{}: {NEVER_RUN_NOTE}", choice.name));
    }
    let job = plan.build_agent_job(choice, "", &choice.session_request(None)).ok()?;
    let program = process::locate_program(&job.spec).ok()?;
    let of_package = profile.npm_package.and_then(|package| npm_package_version(&program, package));
    let version = of_package.or_else(|| cache.find_version(&program).map(str::to_owned))?;
    let note = profile.describe_newer_version(&AgentVersion::find_in_text(&version)?)?;
    Some(format!("{} {note}", choice.name))
}

/// The note for the user about an adapter that was written from a program's documentation.
pub const NEVER_RUN_NOTE: &str =
    "ralph's adapter follows the program's documentation and was never run with the program";

/// An agent that is installed on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstalledAgent {
    pub name: &'static str,
    /// Whether there is a sign of a login.
    pub has_login: bool,
}

/// Returns the agents on PATH.
#[must_use]
pub fn find_installed_agents(folder: &Path) -> Vec<InstalledAgent> {
    let is_installed = |agent: &&&'static dyn Agent| match agent.program() {
        AgentProgram::OnPath(program) => process::can_start_program(folder, program),
        AgentProgram::OwnBinary | AgentProgram::UserProvided => false,
    };
    let installed = AGENTS.iter().filter(is_installed);
    installed
        .map(|agent| InstalledAgent { name: agent.name(), has_login: crate::doctor::has_login(&agent.profile()) })
        .collect()
}

/// Returns the agent of a run without a chosen one: the default agent if it is installed, otherwise the only
/// installed one that has a login, or the only installed one. `None` if the user must choose.
#[must_use]
pub fn choose_default_agent(default: &str, installed: &[InstalledAgent]) -> Option<&'static str> {
    let only = |agents: Vec<&InstalledAgent>| match agents.as_slice() {
        [agent] => Some(agent.name),
        _ => None,
    };
    let named_default = installed.iter().find(|agent| agent.name == default).map(|agent| agent.name);
    named_default
        .or_else(|| only(installed.iter().filter(|agent| agent.has_login).collect()))
        .or_else(|| only(installed.iter().collect()))
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

#[cfg(test)]
mod tests {
    use super::*;

    // finding: N53
    #[test]
    fn the_only_installed_agent_that_has_a_login_is_the_default_one() {
        let agent = |name, has_login| InstalledAgent { name, has_login };
        let choose = |installed: &[InstalledAgent]| choose_default_agent("claude", installed);
        assert_eq!(choose(&[agent("codex", true), agent("claude", false)]), Some("claude"));
        assert_eq!(choose(&[agent("codex", true)]), Some("codex"));
        assert_eq!(choose(&[agent("codex", false)]), Some("codex"), "a login may be where ralph cannot see it");
        assert_eq!(choose(&[agent("codex", true), agent("gemini", false)]), Some("codex"));
        assert_eq!(choose(&[agent("codex", true), agent("gemini", true)]), None, "the user chooses");
        assert_eq!(choose(&[agent("codex", false), agent("gemini", false)]), None);
        assert_eq!(choose(&[]), None);
    }
}
