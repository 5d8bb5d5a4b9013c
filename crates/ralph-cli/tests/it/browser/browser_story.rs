//! Runs a script of `testing/browser` against a server.
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::harness::Project;
use crate::server::server_process::ServerProcess;

/// A script with the values that it reads from its environment.
pub struct BrowserStory<'a> {
    name: &'static str,
    project: &'a Project,
    values: Vec<(&'static str, String)>,
}

impl<'a> BrowserStory<'a> {
    pub fn new(name: &'static str, project: &'a Project) -> Self {
        Self { name, project, values: Vec::new() }
    }

    pub fn value(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.values.push((name, value.into()));
        self
    }

    /// Runs the story in a browser that is logged in.
    pub fn play(self, server: &ServerProcess<'_>) {
        let login = print_login_url(self.project, server);
        self.value("LOGIN_URL", login).play_logged_out(server);
    }

    /// Runs the story in a browser that may only read.
    pub fn play_logged_out(self, server: &ServerProcess<'_>) {
        let name = self.name;
        let output = self.start(server).wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{name}: {}{}", text(&output.stdout), text(&output.stderr));
    }

    /// Starts the story with open streams.
    pub fn start(self, server: &ServerProcess<'_>) -> Child {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/browser");
        // Not a variable of ralph's tests: the browser is no process of a run.
        let mut command = Command::new("node");
        command
            .arg(folder.join(format!("{}.mjs", self.name)))
            .env("HOME", self.project.outside("browser-home"))
            .env("RALPH_TEST_BROWSER", required_variable("RALPH_TEST_BROWSER"))
            .env("RALPH_TEST_CHROMIUM", required_variable("RALPH_TEST_CHROMIUM"))
            .env("BASE_URL", format!("http://{}", server.host))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.envs(self.values);
        command.spawn().unwrap()
    }
}

fn required_variable(name: &str) -> PathBuf {
    let Some(value) = std::env::var_os(name) else {
        panic!("this test needs a browser: run `cargo xtask test`, or `eval \"$(cargo xtask agents)\"` first");
    };
    PathBuf::from(value)
}

pub fn print_login_url(project: &Project, server: &ServerProcess<'_>) -> String {
    let port = server.host.rsplit(':').next().unwrap();
    let printed = project.ralph(["serve", "--print-url", "--port", port]).start().wait_without_invariants().expect(0);
    printed.stdout.trim().to_owned()
}
