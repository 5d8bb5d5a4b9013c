//! `ralph work --detach`: a worker in the background survives its terminal, and can be listed, followed and stopped.
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::background_run::BackgroundRun;
use crate::control::cancel::beside;
use crate::harness::{Call, Project, wait_until};
use crate::process_table::is_alive;
use crate::terminal::Terminal;
use crate::work::pipeline::{project, starts, statuses, text, work, write_agent_command};

/// Prepares a worker in the background, whose log is for people.
fn work_detached<'a>(project: &'a Project, args: &[&str]) -> Call<'a> {
    let agent = project.outside("agent.sh").display().to_string();
    project.ralph(["work", "--agent", "text", "--agent-cmd", &agent, "--until-idle", "--detach"]).args(args)
}

fn worker_entries(project: &Project) -> Vec<Value> {
    let listed = beside(project, &["status", "--json"]).expect(0).json();
    listed.as_array().unwrap().iter().filter(|entry| entry["kind"] == "worker").cloned().collect()
}

/// Returns the only background worker. It is killed when the test ends.
fn only_worker(project: &Project) -> BackgroundRun {
    let entries = worker_entries(project);
    assert_eq!(entries.len(), 1, "{entries:?}");
    let pid = u32::try_from(entries[0]["pid"].as_u64().unwrap()).unwrap();
    BackgroundRun { pid, run: text(&entries[0]["id"]) }
}

// spec: L15
// finding: N19
#[test]
fn a_detached_worker_survives_its_terminal_and_is_shown_and_followed_to_its_end() {
    let project = project(&[("T-1", ""), ("T-2", "  dependencies: [T-1]\n")]);
    let go = project.outside("go");
    fs::write(project.outside("agent.sh"), {
        let agent = fs::read_to_string(project.outside("agent.sh")).unwrap();
        agent.replacen(
            "prompt=$(cat)",
            &format!("prompt=$(cat)\nwhile [ ! -e '{}' ]; do sleep 0.05; done", go.display()),
            1,
        )
    })
    .unwrap();
    let mut terminal = Terminal::start(work_detached(&project, &[]).command());
    assert!(terminal.wait().success());
    let worker = only_worker(&project);
    assert!(terminal.shown().contains(&format!("{} continues in the background", worker.run)), "{}", terminal.shown());
    terminal.close();
    assert!(is_alive(worker.pid), "the worker continues after the terminal was closed");

    let status = beside(&project, &["status"]).expect(0).stdout;
    assert!(status.contains(&format!("{} (background worker): started ", worker.run)), "{status}");
    assert!(status.contains(&format!("ralph cancel {} stops it", worker.run)), "{status}");
    let attached = project.ralph(["attach"]).start();
    fs::write(&go, "").unwrap();
    let log = attached.wait_without_invariants().expect(0).stderr;
    for line in ["T-1  coder started", "T-1 coder  accepted", "T-2  done", "T-2 qa  accepted"] {
        assert!(log.contains(line), "{line}: {log}");
    }
    let qa_line = log.lines().find(|line| line.contains("T-1  coder accepted after ")).unwrap();
    assert!(qa_line.ends_with("; reviewer is next"), "a stage has its time: {qa_line}");
    worker.wait_for_end();
    assert_eq!(statuses(&project), [("T-1".to_owned(), "done".to_owned()), ("T-2".to_owned(), "done".to_owned())]);
    assert_eq!(worker_entries(&project).len(), 0, "a worker that has ended is not active");
    let again = project.ralph(["attach", &worker.run]).output().expect(0).stderr;
    assert!(again.contains("2 of 2 tasks done"), "the end can be read later: {again}");
}

// spec: L15, P4
// finding: N19
#[test]
fn a_stopped_worker_leaves_its_tasks_to_the_next_one() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-hold-T-1-reviewer");
    let receipt = work(&project, &["--until-idle", "--detach"]).start().wait_without_invariants().expect(0).json();
    let pid = u32::try_from(receipt["pid"].as_u64().unwrap()).unwrap();
    let worker = BackgroundRun { pid, run: text(&receipt["worker"]) };
    wait_until("the reviewer is at work", || project.outside("marks/holding").exists());
    let stopped = beside(&project, &["stop", &worker.run]).expect(0).stdout;
    assert_eq!(stopped, format!("Stopped {}; `ralph work` resumes its tasks\n", worker.run));
    worker.wait_for_end();
    assert_eq!(statuses(&project), [("T-1".to_owned(), "reviewing".to_owned())]);
    let refused = beside(&project, &["stop", &worker.run]).expect(1).stderr;
    assert!(refused.contains(&format!("{} does not work any more", worker.run)), "{refused}");
    work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(statuses(&project), [("T-1".to_owned(), "done".to_owned())]);
    let coders = starts(&project).into_iter().filter(|start| start == "T-1 coder").count();
    assert_eq!(coders, 1, "the coder's work is kept");
}

// spec: L15
// finding: N19
#[test]
fn a_killed_worker_is_shown_until_the_next_one_starts() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-hold-T-1-coder");
    work_detached(&project, &[]).start().wait_without_invariants().expect(0);
    let worker = only_worker(&project);
    wait_until("the coder is at work", || project.outside("marks/holding").exists());
    worker.signal(Signal::KILL);
    worker.wait_for_end();
    wait_until("the processes of the worker are gone", || project.processes_of_runs().is_empty());
    assert_eq!(worker_entries(&project)[0]["status"], "died");
    let status = beside(&project, &["status"]).expect(0).stdout;
    assert!(status.contains(&format!("{} (background worker): died", worker.run)), "{status}");
    let attached = beside(&project, &["attach", &worker.run]).expect(3).stderr;
    assert!(attached.contains("died; `ralph work` resumes its tasks"), "{attached}");
    work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(worker_entries(&project).len(), 0);
}

// spec: L15
#[test]
fn a_worker_that_cannot_start_says_so_at_once() {
    let project = project(&[("T-1", "")]);
    let refused = work_detached(&project, &["T-9"]).output().expect(64);
    assert!(refused.stderr.contains("T-9"), "{}", refused.stderr);
    assert_eq!(worker_entries(&project).len(), 0);
}

// spec: U1
// finding: N19
#[test]
fn a_worker_on_a_terminal_shows_what_its_stages_do_and_for_how_long() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-hold-T-1-coder");
    let agent = project.outside("agent.sh").display().to_string();
    let call = project.ralph(["work", "--agent", "text", "--agent-cmd", &agent, "--until-idle", "--grace", "1s"]);
    let mut terminal = Terminal::start(call.command());
    terminal.wait_for("T-1 coder  iteration 1/15 for ");
    terminal.close();
    assert_eq!(terminal.wait().code(), Some(143));
}
