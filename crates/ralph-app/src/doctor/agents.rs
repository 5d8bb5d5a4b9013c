//! Checks one agent on this machine: installation, version, login, known problems, hooks, and the self-test of its
//! adapter.
use std::path::PathBuf;
use std::time::Duration;

use super::finding::{DoctorFinding, FindingStatus};
use super::version_probe::{self, VersionAnswer};
use super::{hooks, login};
use crate::advice::Advice;
use crate::agents::NEVER_RUN_NOTE;
use ralph_agents as agent;
use ralph_agents::detect_installed::{self, AgentPresence};
use ralph_agents::install::RalphExecutable;
use ralph_agents::program_repair::ProgramRepair;
use ralph_agents::{
    AdvisorySeverity, Agent, AgentAdvisory, AgentVersion, DiagnosticContext, LaunchEnvironment, LaunchRequest,
};
use ralph_process::Keeper;

/// The findings about an agent.
#[derive(Debug, Clone)]
pub struct AgentHealth {
    pub name: &'static str,
    pub path: Option<PathBuf>,
    pub version: Option<String>,
    pub findings: Vec<DoctorFinding>,
}

/// Whether a run would use the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentUse {
    /// A run in this project would use it, or the user named it.
    Needed,
    Unused,
}

impl AgentUse {
    /// Returns the status of a problem: only a warning if the agent is unused.
    fn problem_status(self) -> FindingStatus {
        match self {
            Self::Needed => FindingStatus::Bad,
            Self::Unused => FindingStatus::Warning,
        }
    }
}

/// The parameters of an examination.
#[derive(Debug, Clone)]
pub struct AgentExamination {
    pub root: PathBuf,
    pub agent_use: AgentUse,
    /// Timeout of `--version`.
    pub version_timeout: Duration,
    /// The running ralph executable, if it can be found.
    pub own_program: Option<RalphExecutable>,
}

/// Examines an agent. Starts its program once with `--version`.
pub async fn examine_agent(keeper: &Keeper, agent: &dyn Agent, examination: &AgentExamination) -> AgentHealth {
    let mut health = AgentHealth { name: agent.name(), path: None, version: None, findings: Vec::new() };
    match detect_installed::detect_agent(agent, &examination.root) {
        AgentPresence::Missing => health.findings.push(missing_finding(agent, examination.agent_use)),
        AgentPresence::Broken { reason, repair } => {
            health.findings.push(broken_finding(agent, examination.agent_use, &reason, repair));
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

fn broken_finding(
    agent: &dyn Agent,
    agent_use: AgentUse,
    reason: &str,
    repair: Option<ProgramRepair>,
) -> DoctorFinding {
    let file_says = repair.as_ref().and_then(|repair| repair.file_says.as_ref());
    let quoted = file_says.map(|message| format!("; the file says: {message}")).unwrap_or_default();
    let finding = DoctorFinding::new("program", agent_use.problem_status(), format!("{reason}{quoted}"));
    match repair {
        Some(repair) => finding.with_advice(repair.advice),
        None => finding.with_advice(Advice::InstallAgent(agent.profile().install)),
    }
}

fn missing_finding(agent: &dyn Agent, agent_use: AgentUse) -> DoctorFinding {
    let status = match agent_use {
        AgentUse::Needed => FindingStatus::Bad,
        AgentUse::Unused => FindingStatus::Note,
    };
    DoctorFinding::new("program", status, "not found on PATH")
        .with_advice(Advice::InstallAgent(agent.profile().install))
}

impl AgentHealth {
    fn record_installed(&mut self, agent: &dyn Agent, examination: &AgentExamination, answer: &VersionAnswer) {
        let about = agent.profile();
        let version = match answer {
            VersionAnswer::Printed(text) => AgentVersion::find_in_text(text),
            VersionAnswer::Failed { .. } => None,
        };
        self.findings.extend(version_finding(answer, version.as_ref(), examination.agent_use));
        if about.tested_version.is_none() {
            self.findings.push(DoctorFinding::new("tested", FindingStatus::Note, NEVER_RUN_NOTE));
        }
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
            Some(DoctorFinding::new("version", FindingStatus::Warning, "the output of `--version` contains no version"))
        }
        (VersionAnswer::Failed { reason }, _) => Some(
            DoctorFinding::new("version", agent_use.problem_status(), reason.clone())
                .with_advice("run it by hand to see the error"),
        ),
    }
}

/// Returns the advisories of the adapter, and a problem that would prevent a start.
fn known_problems(
    agent: &dyn Agent,
    examination: &AgentExamination,
    version: Option<&AgentVersion>,
) -> Vec<DoctorFinding> {
    let environment =
        LaunchEnvironment { is_root: rustix::process::geteuid().is_root(), has_variable: &login::is_variable_set };
    let has_path = |path: &str| match path.starts_with("~/") {
        true => login::expand_path(path).is_some_and(|path| path.exists()),
        false => examination.root.join(path).exists(),
    };
    let machine = DiagnosticContext { version, environment, has_path: &has_path };
    let blocker = agent.launch_blocker(&LaunchRequest::default(), &environment);
    let blocker = blocker.map(|found| {
        DoctorFinding::new("start", examination.agent_use.problem_status(), found.problem).with_advice(found.hint)
    });
    let advisories = agent.advisories(&machine).into_iter().map(|AgentAdvisory { severity, message, remedy }| {
        let status = match severity {
            AdvisorySeverity::Note => FindingStatus::Note,
            AdvisorySeverity::Warning => FindingStatus::Warning,
        };
        DoctorFinding::new("known", status, message).with_advice(Advice::FixAgent(remedy))
    });
    blocker.into_iter().chain(advisories).collect()
}

fn recordings_finding(agent: &dyn Agent) -> Option<DoctorFinding> {
    match agent::run_self_test(agent) {
        Ok(0) => None,
        Ok(count) => Some(DoctorFinding::new("recordings", FindingStatus::Good, format!("{count} parsed correctly"))),
        Err(problem) => Some(
            DoctorFinding::new("recordings", FindingStatus::Bad, problem)
                .with_advice("this is a bug in ralph: please report it"),
        ),
    }
}
