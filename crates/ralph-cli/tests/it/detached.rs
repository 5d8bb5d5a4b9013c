//! A run in the background that no test leaves behind.
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Project, wait_until};
use crate::processes::is_alive;

/// A run in the background that does not outlive its test.
pub struct Detached {
    pub pid: u32,
    pub run: String,
}

impl Detached {
    pub fn of(receipt: &Value) -> Self {
        let pid = u32::try_from(receipt["pid"].as_u64().unwrap()).unwrap();
        Self { pid, run: receipt["run"].as_str().unwrap().to_owned() }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid.cast_signed()).unwrap(), signal).unwrap();
    }

    pub fn wait_for_the_end(&self) {
        wait_until("the run in the background has ended", || !is_alive(self.pid));
    }

    /// Waits for the end and returns how it is recorded; the call holds it against the invariants.
    pub fn ended(self, project: &Project) -> Value {
        self.wait_for_the_end();
        project.ralph(["show", &self.run, "--json"]).output().expect(0).json()
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        if is_alive(self.pid) {
            self.signal(Signal::KILL);
        }
    }
}

/// Detaches a run and returns once its starter has been let go and its streams are closed.
pub fn detach(project: &Project, mode: &[&str], args: &[&str]) -> Detached {
    let answer = project.run(mode).args(["--detach"]).args(args).start().wait_without_invariants().expect(0);
    let forgets = "context   fresh for every iteration: text cannot resume a session\n";
    assert_eq!(answer.stderr.replace(forgets, ""), "");
    Detached::of(&answer.json())
}
