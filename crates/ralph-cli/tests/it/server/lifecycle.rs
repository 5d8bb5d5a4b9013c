//! Starting, stopping and restarting a server with the loops that it drives.
use std::fs;

use rustix::process::Signal;
use serde_json::json;

use super::served_project::{ServedProject, project_with_script, project_with_shell_agent};
use crate::control::cancel::beside;
use crate::harness::{Project, wait_until};
use crate::process_table;

const WAITING: &str = "text More.\n---\ntouch ../at-2\nwait ../go\ntext Done.\\n\\n{promise}\n";

// fault: 106
#[test]
fn a_port_that_is_taken_is_an_error_with_a_hint() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let port = served.port.to_string();
    let refused = beside(&project, &["serve", "--port", &port]).expect(1).stderr;
    assert!(refused.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{refused}");
    assert!(refused.contains("choose one with --port"), "{refused}");
    served.stop();
}

// spec: U5
// fault: 106
#[test]
fn a_restarted_server_resumes_the_run_that_it_drove_once() {
    for signal in [Signal::TERM, Signal::KILL] {
        let project = project_with_script(WAITING);
        let served = ServedProject::start(&project);
        let run = served.start_run(&json!({ "prompt": "x" }));
        project.wait_for("at-2");
        served.server.signal(signal);
        served.server.wait_without_invariants();
        wait_until("the agent has ended", || project.processes_of_runs().is_empty());
        fs::remove_file(project.outside("at-2")).unwrap();
        let served = ServedProject::start(&project);
        project.wait_for("at-2");
        fs::write(project.outside("go"), "").unwrap();
        let ended = served.wait_for_status(&run, "completed");
        assert_eq!(ended["iterations"].as_array().unwrap().len(), 2);
        let events = served.get(&format!("/api/runs/{run}/events?limit=500")).json();
        let resumed = events["events"].as_array().unwrap().iter().filter(|event| event["event"] == "run.resumed");
        assert_eq!(resumed.count(), 1);
        served.stop();
        // A third server has nothing to resume.
        let served = ServedProject::start(&project);
        assert_eq!(served.get("/api/status").json()["loops"], json!([]));
        assert_eq!(served.get("/api/runs").json()["runs"].as_array().unwrap().len(), 1);
        served.stop();
    }
}

// spec: U5, L11
#[test]
fn a_run_that_a_person_has_paused_stays_paused_after_a_restart() {
    let project = project_with_script("touch ../at-1\nwait ../go\ntext More.\n---\ntext Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "x" }));
    project.wait_for("at-1");
    served.post(&format!("/api/runs/{run}/pause"), &json!({})).expect(200);
    fs::write(project.outside("go"), "").unwrap();
    wait_until("the run is paused", || served.get("/api/runs").json()["runs"][0]["now"]["activity"] == "paused");
    served.stop();
    let served = ServedProject::start(&project);
    assert_eq!(project.starts().len(), 1);
    let resumed = served.post(&format!("/api/runs/{run}/resume"), &json!({})).expect(200).json();
    assert_eq!(resumed["result"], "resumed");
    served.wait_for_status(&run, "completed");
    assert_eq!(project.starts().len(), 2);
    served.stop();
}

/// An agent that waits once.
fn parking_script(time: &str) -> String {
    format!("text <wait for=\"{time}\">the build runs</wait>\n---\ntext Done.\\n\\n{{promise}}\n")
}

fn start_parking(project: &Project) -> ServedProject<'_> {
    let call = project.ralph(["serve", "--port", "0"]).env("RALPH_LIMITS_PARK_AFTER", "1s");
    ServedProject::start_call(project, call)
}

fn journal_events(served: &ServedProject<'_>, run: &str) -> Vec<String> {
    let events = served.get(&format!("/api/runs/{run}/events?limit=500")).expect(200).json();
    let names = events["events"].as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap().to_owned());
    names.filter(|name| name == "agent.waiting" || name == "run.resumed" || name == "attempt.started").collect()
}

// spec: U5, L18
#[test]
fn a_run_that_waits_long_is_parked_by_the_server_and_continues_after_the_wait() {
    let project = project_with_script(&parking_script("2s"));
    let served = start_parking(&project);
    let run = served.start_run(&json!({ "prompt": "x" }));
    let ended = served.wait_for_status(&run, "completed");
    assert_eq!(ended["iterations"].as_array().unwrap().len(), 1);
    assert_eq!(
        journal_events(&served, &run),
        ["attempt.started", "agent.waiting", "run.resumed", "attempt.started"],
        "it released its locks and was resumed"
    );
    served.stop();
}

// spec: U5, L18
// fault: 106
#[test]
fn a_parked_run_is_continued_once_by_the_server_that_follows_or_by_one_of_two() {
    let project = project_with_script(&parking_script("6s"));
    let first = start_parking(&project);
    let run = first.start_run(&json!({ "prompt": "x" }));
    wait_until("the run is parked", || first.get("/api/runs").json()["runs"][0]["now"]["activity"] == "parked");
    first.server.signal(Signal::KILL);
    first.server.wait_without_invariants();
    let (second, third) = (start_parking(&project), start_parking(&project));
    second.wait_for_status(&run, "completed");
    let names = journal_events(&third, &run);
    assert_eq!(names, ["attempt.started", "agent.waiting", "run.resumed", "attempt.started"]);
    second.server.signal(Signal::TERM);
    second.server.wait_without_invariants().expect(143);
    third.stop();
    assert_eq!(fs::read_dir(project.state().join("serve-loops")).unwrap().count(), 0);
}

// spec: U5
#[test]
fn ctrl_z_suspends_the_server_with_all_its_loops_and_it_continues_at_once() {
    let project = project_with_shell_agent(
        "cat > /dev/null; echo >> \"$HOME/starts\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done; \
         echo '<promise>COMPLETE</promise>'",
    );
    let served = ServedProject::start(&project);
    let order = json!({ "prompt": "x", "worktree": true });
    let runs: Vec<String> = (0..2).map(|_| served.start_run(&order)).collect();
    let starts = || fs::read_to_string(project.home().join("starts")).unwrap_or_default().lines().count();
    wait_until("both agents work", || starts() == 2);
    served.server.signal(Signal::TSTP);
    wait_until("the server is stopped", || process_table::state_of(served.server.pid()) == Some('T'));
    served.server.signal(Signal::CONT);
    served.get("/healthz").expect(200);
    fs::write(project.home().join("go"), "").unwrap();
    runs.iter().for_each(|run| drop(served.wait_for_status(run, "completed")));
    served.stop();
}

// spec: U5
#[test]
fn a_second_signal_kills_the_agents_of_a_server_that_stops() {
    let project = project_with_script("touch ../at-1\nhang\n");
    let served = ServedProject::start(&project);
    served.start_run(&json!({ "prompt": "x" }));
    project.wait_for("at-1");
    served.server.signal(Signal::TERM);
    served.server.signal(Signal::TERM);
    served.server.wait().expect(143);
}

// spec: U5
#[test]
fn a_run_that_fails_does_not_end_the_server() {
    let project = project_with_script("exit 3\n");
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "x", "max_iterations": 1 }));
    wait_until("the run has ended", || served.get("/api/status").json()["loops"] == json!([]));
    assert_ne!(served.get(&format!("/api/runs/{run}")).expect(200).json()["status"], "completed");
    served.get("/healthz").expect(200);
    served.stop();
}
