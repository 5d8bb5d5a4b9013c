//! A project, a model server and a real agent that can reach only them.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::server::{Server, WAIT_TIMEOUT};
use crate::harness::{Call, Project};

/// One real agent: its path below `node_modules` and its configuration for the model server.
pub struct AgentSpec {
    /// Its name in ralph and on PATH.
    pub name: &'static str,
    pub set: AgentSet,
    /// Below the folder `node_modules`; `{platform}` is for example `linux-x64`.
    pub program: &'static str,
    /// Writes the settings that it needs and returns its variables.
    pub configure: fn(&Fixture) -> Vec<(&'static str, String)>,
    pub sessions: SessionStorage,
    /// The permission that lets it edit files.
    pub edit_permission: EditPermission,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum EditPermission {
    /// The default permission.
    Default,
    /// Full permission: it has none for edits alone.
    Full,
}

/// Where the agent stores its sessions.
#[derive(PartialEq, Eq)]
pub enum SessionStorage {
    /// In this folder of its home.
    Folder(&'static str),
    /// It cannot resume one.
    None,
}

/// The npm project that installs it.
#[derive(Clone, Copy)]
pub enum AgentSet {
    Standard,
    Extra,
}

impl AgentSet {
    /// Returns the folder where it is installed.
    fn folder(self) -> PathBuf {
        let (variable, option) = match self {
            Self::Standard => ("RALPH_TEST_AGENTS", ""),
            Self::Extra => ("RALPH_TEST_MORE_AGENTS", " --all-agents"),
        };
        let Some(folder) = std::env::var_os(variable) else {
            panic!(
                "this test needs real agents: run `cargo xtask test{option}`, or set {variable} as `cargo xtask agents --all` \
                 says"
            );
        };
        PathBuf::from(folder)
    }
}

pub struct Fixture {
    pub project: Project,
    pub server: Server,
    agent: &'static AgentSpec,
}

impl Fixture {
    /// Creates the project and starts the model server with the answers of the script.
    pub fn new(agent: &'static AgentSpec, script: impl FnOnce(&Project) -> Value) -> Self {
        let project = Project::new();
        let server = Server::start(&project, &script(&project));
        let fixture = Self { project, server, agent };
        fs::create_dir(fixture.bin()).unwrap();
        fixture.link(agent.name, agent.program);
        match agent.set {
            AgentSet::Standard => {}
            // Some of them need a newer Node.js than this machine may have.
            AgentSet::Extra => fixture.link("node", "node-{platform}/bin/node"),
        }
        fixture
    }

    /// Puts a program of the npm project onto PATH.
    fn link(&self, name: &str, program: &str) {
        let platform = platform();
        let path = self.agent.set.folder().join("node_modules").join(program.replace("{platform}", &platform));
        assert!(path.exists(), "{} is not there; is there none for {platform}?", path.display());
        symlink(path, self.bin().join(name)).unwrap();
    }

    /// Puts ralph itself onto PATH, under its name.
    pub fn link_ralph(&self) {
        symlink(env!("CARGO_BIN_EXE_ralph"), self.bin().join("ralph")).unwrap();
    }

    fn bin(&self) -> PathBuf {
        self.project.outside("bin")
    }

    /// Prepares a loop with the agent, which may edit files, reported as JSON lines.
    pub fn run(&self, prompt: &str) -> Call<'_> {
        match self.agent.edit_permission {
            EditPermission::Default => self.run_agent(prompt),
            EditPermission::Full => self.run_with_full_permission(prompt),
        }
    }

    /// Prepares a loop with an agent that may also run commands.
    pub fn run_with_full_permission(&self, prompt: &str) -> Call<'_> {
        // One of them requires this variable when it runs as root.
        self.run_agent(prompt).args(["--permission", "full"]).env("IS_SANDBOX", "1")
    }

    fn run_agent(&self, prompt: &str) -> Call<'_> {
        self.ralph(&["run", prompt, "--agent", self.agent.name, "--json"])
    }

    /// Prepares a call of ralph with the environment of the agent.
    pub fn ralph(&self, args: &[&str]) -> Call<'_> {
        self.with_agent_environment(self.project.ralph(args)).with(|command| self.server.admit(command))
    }

    /// Prepares a session of the agent itself, as people start it. What is installed in its home stays.
    pub fn session(&self, args: &[String]) -> Call<'_> {
        let mut agent = Command::new(self.bin().join(self.agent.name));
        agent.args(args);
        let call = self.with_agent_environment(self.project.ralph([""])).replace_program(agent);
        call.env("IS_SANDBOX", "1").with(|command| self.server.admit(command))
    }

    fn with_agent_environment<'a>(&'a self, call: Call<'a>) -> Call<'a> {
        let path = format!("{}:{}", self.bin().display(), std::env::var("PATH").unwrap_or_default());
        let call = call.timeout(WAIT_TIMEOUT).env("PATH", path);
        (self.agent.configure)(self).into_iter().fold(call, |call, (name, value)| call.env(name, value))
    }

    /// Writes a file into the agent's home, once.
    pub fn settings(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.home().join(name);
        if !path.exists() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        }
        path
    }
}

/// Returns what npm packages call this machine.
fn platform() -> String {
    let processor = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    format!("{system}-{processor}")
}
