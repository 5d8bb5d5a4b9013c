//! A project, a model server and a real agent that knows no other world.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::server::{PATIENCE, Server};
use crate::harness::{Call, Project};

/// One real agent: where npm put it, and how it is told about the server.
pub struct Real {
    /// As ralph knows it, and as it is called on PATH.
    pub name: &'static str,
    pub set: Set,
    /// Below the folder `node_modules`; `{platform}` stands for the likes of `linux-x64`.
    pub program: &'static str,
    /// Writes the settings that it needs and returns its variables.
    pub settle: fn(&Scene) -> Vec<(&'static str, String)>,
    pub sessions: Sessions,
    /// What it needs to be allowed to edit files.
    pub needs: Needs,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// What it is allowed without a word.
    Nothing,
    /// Everything: it knows no permission for edits alone.
    Everything,
}

/// What it remembers from one start to the next.
#[derive(PartialEq, Eq)]
pub enum Sessions {
    /// In this folder, below its home.
    In(&'static str),
    /// It cannot resume one.
    None,
}

/// Which of the two npm projects it belongs to.
#[derive(Clone, Copy)]
pub enum Set {
    Usual,
    More,
}

impl Set {
    /// Returns the folder where it is installed.
    fn folder(self) -> PathBuf {
        let (variable, option) = match self {
            Self::Usual => ("RALPH_TEST_AGENTS", ""),
            Self::More => ("RALPH_TEST_MORE_AGENTS", " --all-agents"),
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

pub struct Scene {
    pub project: Project,
    pub server: Server,
    agent: &'static Real,
}

impl Scene {
    /// Sets it up with what the model shall answer.
    pub fn new(agent: &'static Real, script: impl FnOnce(&Project) -> Value) -> Self {
        let project = Project::new();
        let server = Server::start(&project, &script(&project));
        let scene = Self { project, server, agent };
        fs::create_dir(scene.bin()).unwrap();
        scene.link(agent.name, agent.program);
        match agent.set {
            Set::Usual => {}
            // Some of them want a newer one than the machine may have.
            Set::More => scene.link("node", "node-{platform}/bin/node"),
        }
        scene
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
        match self.agent.needs {
            Needs::Nothing => self.usual(prompt),
            Needs::Everything => self.run_unasked(prompt),
        }
    }

    /// The same with an agent that may also run commands.
    pub fn run_unasked(&self, prompt: &str) -> Call<'_> {
        // One of them wants to hear that it may, where it runs as root.
        self.usual(prompt).args(["--permission", "full"]).env("IS_SANDBOX", "1")
    }

    fn usual(&self, prompt: &str) -> Call<'_> {
        self.ralph(&["run", prompt, "--agent", self.agent.name, "--json"])
    }

    /// Prepares any call of ralph in this world.
    pub fn ralph(&self, args: &[&str]) -> Call<'_> {
        self.around(self.project.ralph(args)).with(|command| self.server.admit(command))
    }

    /// Prepares a session of the agent itself, as people start it. What is installed in its home stays.
    pub fn session(&self, args: &[String]) -> Call<'_> {
        let mut agent = Command::new(self.bin().join(self.agent.name));
        agent.args(args);
        let call = self.around(self.project.ralph([""])).instead(agent);
        call.env("IS_SANDBOX", "1").with(|command| self.server.admit(command))
    }

    fn around<'a>(&'a self, call: Call<'a>) -> Call<'a> {
        let path = format!("{}:{}", self.bin().display(), std::env::var("PATH").unwrap_or_default());
        let call = call.patience(PATIENCE).env("PATH", path);
        (self.agent.settle)(self).into_iter().fold(call, |call, (name, value)| call.env(name, value))
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
