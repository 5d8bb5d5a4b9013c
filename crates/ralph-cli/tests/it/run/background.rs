//! Background runs survive their terminal, and the starting command returns at once.
use std::io::{PipeReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sqlx::{ConnectOptions, Connection};

use crate::background_run::{BackgroundRun, detach};
use crate::harness::{FAKE_AGENT, Project, wait_until};
use crate::process_table::{self, is_alive};
use crate::terminal::Terminal;

// fault: 17
// spec: L15
#[test]
fn a_detached_run_survives_its_terminal() {
    let project = Project::new();
    let go = project.outside("go");
    let call = project.run(&["wait-file", go.to_str().unwrap()]).args(["--check", "true", "--detach", "--fresh"]);
    let mut terminal = Terminal::start(call.command());
    assert!(terminal.wait().success());
    let receipt: Value = serde_json::from_str(&terminal.shown()).unwrap();
    let run = BackgroundRun::from_receipt(&receipt);
    project.wait_for("ready");
    terminal.close();
    assert!(is_alive(run.pid), "the run continues after the terminal was closed");
    std::fs::write(&go, "").unwrap();
    assert_eq!(run.wait_and_show(&project)["outcome"], "completed");
    let log = String::from_utf8(project.log("detached.log")).unwrap();
    assert!(log.contains("accepted  1 check passed") && log.contains("completed after 1 iteration"), "{log}");
}

// fault: 17
// spec: L15
#[test]
fn without_detach_a_closed_terminal_stops_the_run_gracefully() {
    let project = Project::new();
    let call = project.run_on("do the work", &["slow-term", "0.1"]).args(["--grace", "1h"]);
    let mut terminal = Terminal::start(call.command());
    project.wait_for("ready");
    terminal.wait_for("iteration 1/10");
    terminal.close();
    assert_eq!(terminal.wait().code(), Some(143));
    let show = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(show["outcome"], "interrupted");
    assert_eq!(show["reason"], "stopped by a closed terminal (SIGHUP)");
    let log = String::from_utf8(project.log("iteration-001.ndjson")).unwrap();
    assert!(log.contains("cleaned up"), "{log}");
}

// fault: 17
// spec: L15
#[test]
fn with_nohup_a_closed_terminal_does_not_stop_the_run() {
    let project = Project::new();
    let go = project.outside("go");
    let mut call = project.run_on("do the work", &["wait-file", go.to_str().unwrap()]).command();
    ignore_hangup(&mut call);
    let mut terminal = Terminal::start(call);
    project.wait_for("ready");
    terminal.close();
    std::fs::write(&go, "").unwrap();
    assert_eq!(terminal.wait().code(), Some(0));
    assert_eq!(project.ralph(["show", "--json"]).output().expect(0).json()["outcome"], "completed");
}

/// As `nohup` does it.
#[expect(unsafe_code, reason = "only between fork and exec can the child's signals be changed")]
fn ignore_hangup(command: &mut Command) {
    let ignore = || {
        // SAFETY: async-signal-safe, and touches this process alone.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe { command.pre_exec(ignore) };
}

// fault: 17
// spec: L15
#[test]
fn a_detached_run_ignores_a_hangup() {
    let project = Project::new();
    let go = project.outside("go");
    let run = detach(&project, &["wait-file", go.to_str().unwrap()], &[]);
    project.wait_for("ready");
    run.signal(Signal::HUP);
    std::fs::write(&go, "").unwrap();
    assert_eq!(run.wait_and_show(&project)["outcome"], "completed");
}

/// Leaks a descriptor to the child, and returns the end that sees it closed.
#[expect(unsafe_code, reason = "no safe interface makes a descriptor inheritable")]
fn leak_a_descriptor(command: &mut Command) -> PipeReader {
    let (reader, writer) = std::io::pipe().unwrap();
    let leak = move || {
        // SAFETY: the writer lives in this closure; only its flag in the child changes.
        unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFD, 0) };
        Ok(())
    };
    // SAFETY: the closure makes one system call.
    unsafe { command.pre_exec(leak) };
    reader
}

// spec: L15
#[test]
fn a_reader_of_the_starter_s_streams_does_not_wait_for_the_run() {
    let project = Project::new();
    let mut leaked = None;
    let call = project.run(&["hang"]).args(["--detach"]);
    let call = call.with(|command| leaked = Some(leak_a_descriptor(command)));
    // Returns only when both streams have ended, as ssh does.
    let answer = call.start().wait_without_invariants().expect(0);
    let run = BackgroundRun::from_receipt(&answer.json());
    leaked.unwrap().read_to_end(&mut Vec::new()).unwrap();
    project.wait_for("ready");
    assert!(is_alive(run.pid));
    run.signal(Signal::TERM);
    assert_eq!(run.wait_and_show(&project)["exit_code"], 143);
}

// spec: L15, U1
#[test]
fn one_line_says_how_to_follow_and_stop_a_detached_run() {
    let project = Project::new();
    let call = project.run_on("do the work", &["hang"]).args(["--detach"]);
    let answer = call.start().wait_without_invariants().expect(0);
    let (_, rest) = answer.stdout.split_once("`kill ").unwrap();
    let pid: u32 = rest.split('`').next().unwrap().parse().unwrap();
    let runs = project.ralph(["runs", "--json"]).start().wait_without_invariants().json();
    let run = BackgroundRun { pid, run: runs[0]["id"].as_str().unwrap().to_owned() };
    let short = &run.run[run.run.len() - 8..];
    assert_eq!(
        answer.stdout,
        format!("run {short} continues in the background: `ralph attach {short}` follows it, `kill {pid}` stops it\n")
    );
    project.wait_for("ready");
    run.signal(Signal::TERM);
    run.wait_and_show(&project);
}

// spec: L15, C6
#[test]
fn a_mistake_is_reported_before_anything_goes_to_the_background() {
    let project = Project::new();
    let missing = project.ralph(["run", "x", "--detach", "--agent", "text", "--agent-cmd", "/no/such/agent"]);
    let answer = missing.output().expect(1);
    assert!(answer.stderr.contains("/no/such/agent does not exist"), "{}", answer.stderr);
    assert_eq!(answer.stdout, "");
    project.run(&["complete"]).output().expect(0);
    let runs = || std::fs::read_dir(project.state().join("runs")).unwrap().count();
    let before = runs();
    std::fs::write(project.state().join("ralph.db"), "this is no database").unwrap();
    let call = project.run(&["complete"]).args(["--detach"]);
    let answer = call.start().wait_without_invariants().expect(10);
    assert!(answer.stderr.contains("ralph.db is damaged"), "{}", answer.stderr);
    assert_eq!((answer.stdout.as_str(), project.starts().len()), ("", 1));
    assert_eq!(runs(), before, "a run that never was leaves no folder");
}

// spec: L15, L14
#[test]
fn a_second_run_in_the_same_tree_is_refused_before_it_goes_to_the_background() {
    let project = Project::new();
    let first = detach(&project, &["hang"], &[]);
    project.wait_for("ready");
    let call = project.run(&["complete"]).args(["--detach"]);
    let answer = call.start().wait_without_invariants().expect(10);
    assert!(answer.stderr.contains(&first.pid.to_string()) && answer.stdout.is_empty(), "{}", answer.stderr);
    assert_eq!(std::fs::read_dir(project.state().join("runs")).unwrap().count(), 1);
    first.signal(Signal::TERM);
    assert_eq!(first.wait_and_show(&project)["exit_code"], 143);
}

// spec: L15, C1
#[test]
fn classic_loops_go_to_the_background_too() {
    let project = Project::new();
    let prompt = project.write("task.md", "Work. Print <promise>COMPLETE</promise> when done.");
    let agent = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=complete", "--json", "--detach"];
    let call = project.ralph(["prompt", prompt.to_str().unwrap()]).args(agent);
    let run = BackgroundRun::from_receipt(&call.start().wait_without_invariants().expect(0).json());
    let ended = run.wait_and_show(&project);
    assert_eq!((&ended["kind"], &ended["outcome"]), (&"prompt".into(), &"completed".into()));
}

/// Resumes the newest run in the background.
fn resume_detached(project: &Project) -> BackgroundRun {
    let call = project.ralph(["resume", "--detach", "--json"]);
    let answer = call.start().wait_without_invariants().expect(0);
    assert_eq!(answer.stderr, "");
    BackgroundRun::from_receipt(&answer.json())
}

// spec: L13, L15
#[test]
fn a_run_can_be_resumed_in_the_background_repeatedly() {
    let project = Project::new();
    let go = project.outside("go");
    let first = project.run(&["wait-file", go.to_str().unwrap()]).start();
    project.wait_for("ready");
    first.signal(Signal::INT);
    let run = first.wait().expect(130).finished()["run"].as_str().unwrap().to_owned();
    let starts = |count| wait_until("the agent has started again", || project.starts().len() == count);
    let second = resume_detached(&project);
    assert_eq!(second.run, run);
    starts(2);
    second.signal(Signal::TERM);
    assert_eq!(second.wait_and_show(&project)["exit_code"], 143);
    let third = resume_detached(&project);
    starts(3);
    std::fs::write(&go, "").unwrap();
    assert_eq!(third.wait_and_show(&project)["outcome"], "completed");
    let log = String::from_utf8(project.log("detached.log")).unwrap();
    assert_eq!(log.matches("resumes at iteration 1/10").count(), 2, "one log for both: {log}");
    assert!(log.contains("interrupted after 1 iteration") && log.contains("completed after 1 iteration"));
}

// spec: L13, L15, C6
#[test]
fn errors_of_a_background_resume_are_reported_in_the_foreground() {
    let project = Project::new();
    let resume = || project.ralph(["resume", "--detach"]);
    assert!(resume().output().expect(1).stderr.contains("this project has no runs yet"));
    project.run(&["work"]).args(["--max-iterations", "1"]).output().expect(3);
    let ended = resume().output().expect(3);
    assert!(ended.stdout.starts_with("exhausted: ") && ended.stderr.contains("nothing was started"));
    assert!(project.log("detached.log").is_empty());
    let first = detach(&project, &["hang"], &[]);
    project.wait_for("ready");
    let answer = resume().start().wait_without_invariants().expect(10);
    assert!(answer.stderr.contains(&first.pid.to_string()) && answer.stdout.is_empty(), "{}", answer.stderr);
    first.signal(Signal::TERM);
    assert_eq!(first.wait_and_show(&project)["exit_code"], 143);
    let log = String::from_utf8(project.log("detached.log")).unwrap();
    assert!(log.contains("interrupted after 1 iteration"), "the log of the run is still there: {log}");
}

/// Prevents a background run from being stored while it exists.
struct Locked {
    runtime: tokio::runtime::Runtime,
    connection: sqlx::SqliteConnection,
}

impl Locked {
    fn database_of(project: &Project) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(project.state().join("ralph.db"));
        let mut connection = runtime.block_on(options.connect()).unwrap();
        runtime.block_on(sqlx::query("BEGIN IMMEDIATE").execute(&mut connection)).unwrap();
        Self { runtime, connection }
    }

    fn unlock(self) {
        self.runtime.block_on(self.connection.close()).unwrap();
    }
}

/// Waits until a starter has its background child, and returns its pid.
fn child_of(project: &Project, starter: u32) -> u32 {
    let mut child = None;
    wait_until("the starter has forked", || {
        let ours = process_table::find_marked(&project.mark, "RALPH_TEST_MARK=");
        child = ours.iter().map(|process| process.pid).find(|pid| process_table::parent_of(*pid) == Some(starter));
        child.is_some()
    });
    child.unwrap()
}

// spec: L15, C6
#[test]
fn a_starter_reports_that_its_run_died_before_it_was_stored() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let locked = Locked::database_of(&project);
    let starter = project.run(&["complete"]).args(["--detach"]).start();
    let child = child_of(&project, starter.pid());
    kill_process(Pid::from_raw(child.cast_signed()).unwrap(), Signal::KILL).unwrap();
    let answer = starter.wait_without_invariants().expect(70);
    assert!(answer.stderr.contains("killed by signal 9 before it was stored"), "{}", answer.stderr);
    locked.unlock();
    assert_eq!(project.ralph(["runs", "--json"]).output().expect(0).json().as_array().unwrap().len(), 1);
}

// spec: L15
#[test]
fn a_run_whose_starter_gave_up_before_it_was_stored_stops_by_itself() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let locked = Locked::database_of(&project);
    let starter = project.run(&["hang"]).args(["--detach"]).start();
    let child = child_of(&project, starter.pid());
    starter.signal(Signal::INT);
    wait_until("the starter has ended", || !is_alive(starter.pid()));
    locked.unlock();
    wait_until("the run has ended", || !is_alive(child));
    assert_eq!(starter.wait().code(), -2);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!((&runs[0]["status"], &runs[0]["exit_code"]), (&"interrupted".into(), &143.into()));
}
