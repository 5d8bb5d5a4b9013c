//! The whole diagnosis: the machine, the settings of the project, and the agents.
use std::path::PathBuf;
use std::time::Duration;

use ralph_agents::{AGENTS, Agent};
use ralph_engine::project::{Project, ProjectError};
use ralph_process::Keeper;

use super::agents::{AgentExamination, AgentHealth, AgentUse, examine_agent};
use super::finding::{DoctorFinding, FindingStatus, worst_status};
use super::machine::{ExaminedProject, check_machine};
use crate::agents::load_version_cache;
use crate::config::{ConfigError, ConfigSource, Settings};
use crate::install::find_own_program;
use crate::interaction::Interaction;

/// The subject of a diagnosis.
pub struct DiagnosisRequest {
    /// The project, or why there is none here.
    pub project: Result<Project, ProjectError>,
    /// The agents to check; empty for all.
    pub agents: Vec<&'static dyn Agent>,
    /// How long an agent may take to print its version.
    pub version_timeout: Duration,
}

/// All findings.
#[derive(Debug)]
pub struct DoctorReport {
    pub agents: Vec<AgentHealth>,
    pub checks: Vec<DoctorFinding>,
}

impl DoctorReport {
    #[must_use]
    pub fn overall_status(&self) -> FindingStatus {
        worst_status(self.agents.iter().flat_map(|agent| &agent.findings).chain(&self.checks))
    }
}

/// Checks the machine and the agents. Changes nothing.
pub async fn diagnose(request: DiagnosisRequest, keeper: &Keeper, person: &dyn Interaction) -> DoctorReport {
    let DiagnosisRequest { project, agents: requested, version_timeout } = request;
    let root =
        project.as_ref().map_or_else(|_| std::env::current_dir().unwrap_or_default(), |found| found.root.clone());
    let (settings_finding, chosen) = check_settings(project.as_ref().ok(), person);
    let examined_project = project
        .as_ref()
        .map(|project| ExaminedProject { root: project.root.clone(), state_folder: project.state_folder() });
    let mut checks = check_machine(examined_project.as_ref().map_err(ToString::to_string)).await;
    checks.push(settings_finding);
    let own_program = find_own_program().ok();
    let examination = AgentExamination { root, agent_use: AgentUse::Unused, version_timeout, own_program };
    let agents = examine_agents(keeper, &requested, &examination, &chosen).await;
    remember_versions(&agents);
    DoctorReport { agents, checks }
}

/// Remembers the printed versions for commands that do not start agents. It is only a cache, so errors are ignored.
fn remember_versions(agents: &[AgentHealth]) {
    let mut cache = load_version_cache();
    for agent in agents {
        if let (Some(path), Some(version)) = (&agent.path, &agent.version) {
            cache.set_version(path, version);
        }
    }
    let _ = cache.save();
}

/// Examines all agents concurrently, because some are slow to print their version.
async fn examine_agents(
    keeper: &Keeper,
    requested: &[&'static dyn Agent],
    examination: &AgentExamination,
    chosen: &[&str],
) -> Vec<AgentHealth> {
    let is_requested = |agent: &dyn Agent| requested.iter().any(|other| other.name() == agent.name());
    let agent_use = |agent: &dyn Agent| {
        if is_requested(agent) || chosen.contains(&agent.name()) { AgentUse::Needed } else { AgentUse::Unused }
    };
    let examined = AGENTS.iter().copied().filter(|agent| requested.is_empty() || is_requested(*agent));
    let tasks: Vec<_> = examined
        .map(|agent| {
            let (keeper, examination) =
                (keeper.clone(), AgentExamination { agent_use: agent_use(agent), ..examination.clone() });
            tokio::spawn(async move { examine_agent(&keeper, agent, &examination).await })
        })
        .collect();
    let mut found = Vec::new();
    for task in tasks {
        found.extend(task.await.ok());
    }
    found
}

/// Loads the settings, and returns the finding and the adapters of the agents that they choose.
fn check_settings(project: Option<&Project>, person: &dyn Interaction) -> (DoctorFinding, Vec<&'static str>) {
    let described = ConfigSource::default().load_settings(project).and_then(|settings| {
        settings.warnings.iter().for_each(|warning| person.show_note(&format!("warning: {warning}")));
        describe_chosen_agents(&settings, project)
    });
    match described {
        Ok((what, adapters)) => (DoctorFinding::new("settings", FindingStatus::Good, what), adapters),
        Err(error) => {
            let finding = DoctorFinding::new("settings", FindingStatus::Bad, error.to_string());
            (DoctorFinding { advice: error.hint, ..finding }, Vec::new())
        }
    }
}

/// Describes the agents of a run here, and returns the adapters of those that start the adapter's default program.
fn describe_chosen_agents(
    settings: &Settings,
    project: Option<&Project>,
) -> Result<(String, Vec<&'static str>), ConfigError> {
    let root = project.map_or_else(PathBuf::new, |project| project.root.clone());
    let (first, others) = (settings.chosen_agent(&root)?, settings.fallback_agents(&root)?);
    let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
    let what = match names.as_slice() {
        [] => format!("the agent is {}", first.name),
        names => format!("the agent is {}; fallback: {}", first.name, names.join(", ")),
    };
    let own = [&first].into_iter().chain(&others).filter(|agent| agent.overrides.cli.is_none());
    Ok((what, own.map(|agent| agent.adapter.name()).collect()))
}
