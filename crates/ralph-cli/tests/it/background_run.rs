//! A background run that is killed when its test ends.
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Project, wait_until};
use crate::process_table::is_alive;

/// A background run that is killed on drop.
pub struct BackgroundRun {
    pub pid: u32,
    pub run: String,
}

impl BackgroundRun {
    pub fn from_receipt(receipt: &Value) -> Self {
        let pid = u32::try_from(receipt["pid"].as_u64().unwrap()).unwrap();
        Self { pid, run: receipt["run"].as_str().unwrap().to_owned() }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid.cast_signed()).unwrap(), signal).unwrap();
    }

    pub fn wait_for_end(&self) {
        wait_until("the run in the background has ended", || !is_alive(self.pid));
    }

    /// Waits for the end and returns the record of the run; the call checks the invariants.
    pub fn wait_and_show(self, project: &Project) -> Value {
        self.wait_for_end();
        project.ralph(["show", &self.run, "--json"]).output().expect(0).json()
    }
}

impl Drop for BackgroundRun {
    fn drop(&mut self) {
        if is_alive(self.pid) {
            self.signal(Signal::KILL);
        }
    }
}

/// Detaches a run and returns when its starter has exited and the streams are closed.
pub fn detach(project: &Project, mode: &[&str], args: &[&str]) -> BackgroundRun {
    let answer = project.run(mode).args(["--detach"]).args(args).start().wait_without_invariants().expect(0);
    let fresh_context_notice = "context   fresh for every iteration: text cannot resume a session\n";
    assert_eq!(answer.stderr.replace(fresh_context_notice, ""), "");
    BackgroundRun::from_receipt(&answer.json())
}
