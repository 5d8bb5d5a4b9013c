//! One agent on this machine: is it there, which version is it, is somebody logged in, what is odd about it, and does
//! its adapter read what it should.
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::ask::{self, Answer};
use super::finding::{Finding, Status};
use super::{hooks, login};
use ralph_agents as agent;
use ralph_agents::install::Own;
use ralph_agents::survey::{self, Presence};
use ralph_agents::{Agent, Job, Machine, Surroundings, Trap, Version, Weight};
use ralph_process::Keeper;

/// How an agent is.
#[derive(Debug, Clone, Serialize)]
pub struct AgentHealth {
    pub name: &'static str,
    pub path: Option<PathBuf>,
    pub version: Option<String>,
    pub findings: Vec<Finding>,
}

/// Whether somebody counts on this agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A run here would use it, or the user asked about it.
    Yes,
    No,
}

impl Wanted {
    /// What is wrong with an agent that nobody uses is no more than a warning.
    fn wrong(self) -> Status {
        match self {
            Self::Yes => Status::Bad,
            Self::No => Status::Warning,
        }
    }
}

/// The circumstances of an examination.
#[derive(Debug, Clone)]
pub struct Visit {
    pub root: PathBuf,
    pub wanted: Wanted,
    /// How long an agent may take to say its version.
    pub patience: Duration,
    /// This very program, if it can be found.
    pub own: Option<Own>,
}

/// Looks at an agent. Its program is started once, to ask for its version.
pub async fn examine(keeper: &Keeper, agent: &dyn Agent, visit: &Visit) -> AgentHealth {
    let mut health = AgentHealth { name: agent.name(), path: None, version: None, findings: Vec::new() };
    match survey::look(agent, &visit.root) {
        Presence::Missing => health.findings.push(missing(agent, visit.wanted)),
        Presence::Broken { why } => {
            let finding = Finding::new("program", visit.wanted.wrong(), why);
            health.findings.push(finding.hint(agent.about().install_hint));
        }
        Presence::BuiltIn | Presence::Yours => {}
        Presence::Installed { path, .. } => {
            let answer = ask::version(keeper, &path, visit.patience).await;
            health.path = Some(path);
            health.installed(agent, visit, &answer);
        }
    }
    health.findings.extend(hooks::look(agent.name(), visit));
    health.findings.extend(recordings(agent));
    health
}

fn missing(agent: &dyn Agent, wanted: Wanted) -> Finding {
    let status = match wanted {
        Wanted::Yes => Status::Bad,
        Wanted::No => Status::Note,
    };
    Finding::new("program", status, "it is not on PATH").hint(agent.about().install_hint)
}

impl AgentHealth {
    fn installed(&mut self, agent: &dyn Agent, visit: &Visit, answer: &Answer) {
        let about = agent.about();
        let version = match answer {
            Answer::Said(text) => Version::in_text(text),
            Answer::Silent { .. } => None,
        };
        self.findings.extend(version_finding(answer, version.as_ref(), visit.wanted));
        self.findings.push(login::look(&about));
        self.findings.extend(odd(agent, visit, version.as_ref()));
        self.version = version.map(|version| version.to_string());
    }
}

fn version_finding(answer: &Answer, version: Option<&Version>, wanted: Wanted) -> Option<Finding> {
    match (answer, version) {
        (Answer::Said(_), Some(_)) => None,
        (Answer::Said(_), None) => {
            Some(Finding::new("version", Status::Warning, "what it says for `--version` holds no version"))
        }
        (Answer::Silent { why }, _) => Some(
            Finding::new("version", wanted.wrong(), why.clone())
                .hint("start it by hand and see what it says"),
        ),
    }
}

/// What the adapter knows to be odd, and what would be in the way of a start.
fn odd(agent: &dyn Agent, visit: &Visit, version: Option<&Version>) -> Vec<Finding> {
    let around = Surroundings { is_root: rustix::process::geteuid().is_root(), is_set: &login::is_set };
    let has_path = |path: &str| match path.starts_with("~/") {
        true => login::expand(path).is_some_and(|path| path.exists()),
        false => visit.root.join(path).exists(),
    };
    let machine = Machine { version, around, has_path: &has_path };
    let obstacle = agent.obstacle(&Job::default(), &around);
    let obstacle =
        obstacle.map(|found| Finding::new("start", visit.wanted.wrong(), found.what).hint(found.hint));
    let traps = agent.traps(&machine).into_iter().map(|Trap { weight, what, hint }| {
        let status = match weight {
            Weight::Note => Status::Note,
            Weight::Warning => Status::Warning,
        };
        Finding::new("known", status, what).hint(hint)
    });
    obstacle.into_iter().chain(traps).collect()
}

fn recordings(agent: &dyn Agent) -> Option<Finding> {
    match agent::self_test(agent) {
        Ok(0) => None,
        Ok(count) => Some(Finding::new("recordings", Status::Good, format!("{count} read, none wrongly"))),
        Err(what) => Some(
            Finding::new("recordings", Status::Bad, what).hint("this is a fault of ralph: please report it"),
        ),
    }
}
