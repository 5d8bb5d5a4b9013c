//! A project that a server serves.
use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::{HttpAnswer, HttpRequest};
use crate::control::cancel::beside;
use crate::harness::{Call, CallOutput, Project, Running, wait_until};

const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_fake-agent");

/// A running server.
pub struct ServedProject<'a> {
    pub server: Running<'a>,
    pub port: u16,
    pub token: String,
}

/// Returns a project with a commit. Its runs have the scripted agent with these steps.
pub fn project_with_script(steps: &str) -> Project {
    let project = Project::new();
    let script = project.script(steps);
    configure_agent(&project, FAKE_AGENT, &format!("[script, '{script}']"));
    project
}

/// Returns a project with a commit. Its runs have a shell script as agent.
pub fn project_with_shell_agent(lines: &str) -> Project {
    let project = Project::new();
    let agent = project.shell(lines);
    configure_agent(&project, &agent, "[]");
    project
}

fn configure_agent(project: &Project, program: &str, args: &str) {
    let folder = project.home().join(".config/ralph");
    fs::create_dir_all(&folder).unwrap();
    let config = format!("agent: mine\nagents: {{mine: {{type: text, cli: '{program}', args: {args}}}}}\n");
    fs::write(folder.join("config.yaml"), config).unwrap();
    project.commit();
}

impl<'a> ServedProject<'a> {
    pub fn start(project: &'a Project) -> Self {
        Self::start_with(project, &[])
    }

    pub fn start_with(project: &'a Project, args: &[&str]) -> Self {
        Self::start_call(project, project.ralph(["serve", "--port", "0"]).args(args))
    }

    /// The same for a prepared call.
    pub fn start_call(project: &'a Project, call: Call<'a>) -> Self {
        let server = call.start();
        wait_until("the server listens", || server.stdout_so_far().contains("/login?token="));
        let text = server.stdout_so_far();
        let address = text.lines().next().unwrap().trim_end_matches('/');
        let port = address.rsplit(':').next().unwrap().parse().unwrap_or_else(|_| panic!("{text}"));
        let token = beside(project, &["serve", "--print-token"]).expect(0).stdout.trim().to_owned();
        Self { server, port, token }
    }

    pub fn get(&self, path: &str) -> HttpAnswer {
        HttpRequest::get(path).send(self.port)
    }

    /// Gives an order with the token.
    pub fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        HttpRequest::post(path, body).bearer(&self.token).send(self.port)
    }

    /// Starts a run, and returns its id.
    pub fn start_run(&self, order: &Value) -> String {
        let mut order = order.clone();
        order["promise"] = json!("COMPLETE");
        let started = self.post("/api/runs", &order).expect(201);
        started.json()["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a run has this status.
    pub fn wait_for_status(&self, run: &str, status: &str) -> Value {
        let mut found = Value::Null;
        wait_until(&format!("run {run} is {status}"), || {
            found = self.get(&format!("/api/runs/{run}")).expect(200).json();
            found["status"] == status
        });
        found
    }

    /// Returns the one-time code of the printed login address.
    pub fn login_code(&self) -> String {
        let text = self.server.stdout_so_far();
        text.rsplit_once("token=").unwrap().1.trim().to_owned()
    }

    /// Stops the server, and checks the invariants.
    pub fn stop(self) -> CallOutput {
        self.server.signal(Signal::TERM);
        self.server.wait().expect(143)
    }
}
