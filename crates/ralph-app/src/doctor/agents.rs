//! One agent on this machine: is it there, which version is it, is somebody logged in, what is odd about it, and does
//! its adapter read what it should.
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::finding::{DoctorFinding, FindingStatus};
use super::version_probe::{self, VersionAnswer};
use super::{hooks, login};
use ralph_agents as agent;
use ralph_agents::detect_installed::{self, AgentPresence};
use ralph_agents::install::RalphExecutable;
use ralph_agents::{
    AdvisorySeverity, Agent, AgentAdvisory, AgentVersion, DiagnosticContext, LaunchEnvironment, LaunchRequest,
};
use ralph_process::Keeper;

/// How an agent is.
#[derive(Debug, Clone, Serialize)]
pub struct AgentHealth {
    pub name: &'static str,
    pub path: Option<PathBuf>,
    pub version: Option<String>,
    pub findings: Vec<DoctorFinding>,
}

/// Whether somebody counts on this agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentUse {
    /// A run here would use it, or the user asked about it.
    Needed,
    Unused,
}

impl AgentUse {
    /// What is wrong with an agent that nobody uses is no more than a warning.
    fn problem_status(self) -> FindingStatus {
        match self {
            Self::Needed => FindingStatus::Bad,
            Self::Unused => FindingStatus::Warning,
        }
    }
}

/// The circumstances of an examination.
#[derive(Debug, Clone)]
pub struct AgentExamination {
    pub root: PathBuf,
    pub agent_use: AgentUse,
    /// How long an agent may take to say its version.
    pub version_timeout: Duration,
    /// This very program, if it can be found.
    pub own_program: Option<RalphExecutable>,
}

/// Looks at an agent. Its program is started once, to ask for its version.
pub async fn examine_agent(keeper: &Keeper, agent: &dyn Agent, examination: &AgentExamination) -> AgentHealth {
    let mut health = AgentHealth { name: agent.name(), path: None, version: None, findings: Vec::new() };
    match detect_installed::detect_agent(agent, &examination.root) {
        AgentPresence::Missing => health.findings.push(missing_finding(agent, examination.agent_use)),
        AgentPresence::Broken { reason: why } => {
            let finding = DoctorFinding::new("program", examination.agent_use.problem_status(), why);
            health.findings.push(finding.with_hint(agent.profile().install_hint));
        }
        AgentPresence::BuiltIn | AgentPresence::UserProvided => {}
        AgentPresence::Installed { path, .. } => {
            let answer = version_probe::ask_version(keeper, &path, examination.version_timeout).await;
            health.path = Some(path);
            health.record_installed(agent, examination, &answer);
        }
    }
    health.findings.extend(hooks::check_hooks(agent.name(), examination));
    health.findings.extend(recordings_finding(agent));
    health
}

fn missing_finding(agent: &dyn Agent, agent_use: AgentUse) -> DoctorFinding {
    let status = match agent_use {
        AgentUse::Needed => FindingStatus::Bad,
        AgentUse::Unused => FindingStatus::Note,
    };
    DoctorFinding::new("program", status, "it is not on PATH").with_hint(agent.profile().install_hint)
}

impl AgentHealth {
    fn record_installed(&mut self, agent: &dyn Agent, examination: &AgentExamination, answer: &VersionAnswer) {
        let about = agent.profile();
        let version = match answer {
            VersionAnswer::Printed(text) => AgentVersion::find_in_text(text),
            VersionAnswer::Failed { .. } => None,
        };
        self.findings.extend(version_finding(answer, version.as_ref(), examination.agent_use));
        self.findings.push(login::check_login(&about));
        self.findings.extend(known_problems(agent, examination, version.as_ref()));
        self.version = version.map(|version| version.to_string());
    }
}

fn version_finding(
    answer: &VersionAnswer,
    version: Option<&AgentVersion>,
    agent_use: AgentUse,
) -> Option<DoctorFinding> {
    match (answer, version) {
        (VersionAnswer::Printed(_), Some(_)) => None,
        (VersionAnswer::Printed(_), None) => {
            Some(DoctorFinding::new("version", FindingStatus::Warning, "what it says for `--version` holds no version"))
        }
        (VersionAnswer::Failed { reason: why }, _) => Some(
            DoctorFinding::new("version", agent_use.problem_status(), why.clone())
                .with_hint("start it by hand and see what it says"),
        ),
    }
}

/// What the adapter knows to be odd, and what would be in the way of a start.
fn known_problems(
    agent: &dyn Agent,
    examination: &AgentExamination,
    version: Option<&AgentVersion>,
) -> Vec<DoctorFinding> {
    let around =
        LaunchEnvironment { is_root: rustix::process::geteuid().is_root(), has_variable: &login::is_variable_set };
    let has_path = |path: &str| match path.starts_with("~/") {
        true => login::expand_path(path).is_some_and(|path| path.exists()),
        false => examination.root.join(path).exists(),
    };
    let machine = DiagnosticContext { version, environment: around, has_path: &has_path };
    let obstacle = agent.launch_blocker(&LaunchRequest::default(), &around);
    let obstacle = obstacle.map(|found| {
        DoctorFinding::new("start", examination.agent_use.problem_status(), found.problem).with_hint(found.hint)
    });
    let traps =
        agent.advisories(&machine).into_iter().map(|AgentAdvisory { severity: weight, message: what, hint }| {
            let status = match weight {
                AdvisorySeverity::Note => FindingStatus::Note,
                AdvisorySeverity::Warning => FindingStatus::Warning,
            };
            DoctorFinding::new("known", status, what).with_hint(hint)
        });
    obstacle.into_iter().chain(traps).collect()
}

fn recordings_finding(agent: &dyn Agent) -> Option<DoctorFinding> {
    match agent::run_self_test(agent) {
        Ok(0) => None,
        Ok(count) => Some(DoctorFinding::new("recordings", FindingStatus::Good, format!("{count} read, none wrongly"))),
        Err(what) => Some(
            DoctorFinding::new("recordings", FindingStatus::Bad, what)
                .with_hint("this is a fault of ralph: please report it"),
        ),
    }
}
