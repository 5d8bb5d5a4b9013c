//! The scripted model server of a test: started with a script, inspected through its log, stopped with the test.
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Project, wait_until_within};

/// Real agents need seconds to start, and a loaded machine makes minutes of them.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(400);

pub struct Server {
    /// Ends when its standard input is closed.
    child: Child,
    pub port: u64,
    /// Its network, if it could make one.
    network: Option<Arc<File>>,
    log: PathBuf,
}

impl Server {
    /// Starts it with a script.
    pub fn start(project: &Project, script: &Value) -> Self {
        let (path, log) = (project.outside("model-script"), project.outside("model-log"));
        fs::write(&path, script.to_string()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_model-server"))
            .args([&path, &log])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let hello: Value = serde_json::from_str(&line).unwrap();
        let network = format!("/proc/{}/ns/net", child.id());
        let network = (hello["isolated"] == true).then(|| Arc::new(File::open(network).unwrap()));
        Self { child, port: hello["port"].as_u64().unwrap(), network, log }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Lets a command start in the server's network.
    #[expect(unsafe_code, reason = "only between fork and exec can the child change its network")]
    pub fn admit(&self, command: &mut Command) {
        let Some(network) = self.network.clone() else { return };
        let join = move || {
            // SAFETY: the call touches this process alone, and the file is open for as long as the command lives.
            let joined = unsafe { libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) };
            if joined == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        // SAFETY: the closure allocates nothing and takes no lock.
        unsafe { command.pre_exec(join) };
    }

    fn events(&self, name: &str) -> Vec<Value> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may be incomplete.
        let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let events = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|event| event["event"] == name).collect()
    }

    /// Returns the bodies of the requests that took a step of the script.
    pub fn asked(&self) -> Vec<Value> {
        self.events("step_request").into_iter().map(|event| event["body"].clone()).collect()
    }

    /// Returns the bodies of the questions to a judge.
    pub fn judged(&self) -> Vec<Value> {
        let aside = self.events("other_request").into_iter().map(|event| event["body"].clone());
        aside.filter(|body| body.to_string().contains("-----BEGIN CRITERIA ")).collect()
    }

    /// Returns the ends of the keys that came with questions to a judge.
    pub fn keys(&self) -> Vec<Value> {
        let aside = self.events("other_request").into_iter();
        let judged = aside.filter(|event| event["body"].to_string().contains("-----BEGIN CRITERIA "));
        judged.map(|event| event["key_end"].clone()).collect()
    }

    /// Waits for this many requests.
    pub fn wait_for(&self, requests: usize) {
        let what = format!("the agent has asked the model {requests} times");
        wait_until_within(WAIT_TIMEOUT, &what, || self.asked().len() >= requests);
    }

    /// Waits until a client that was kept waiting has left.
    pub fn wait_until_left(&self) {
        wait_until_within(WAIT_TIMEOUT, "the agent has hung up", || !self.events("disconnect").is_empty());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.wait());
    }
}
