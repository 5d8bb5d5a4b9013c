//! Parking: a long wait releases the slot of a worker and the locks of a background run, and ends the wait exactly once.
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::background_run::{BackgroundRun, detach};
use crate::control::cancel::beside;
use crate::harness::{Call, Project, wait_until};
use crate::work::pipeline::{project, shown, starts, statuses, text, work};

/// Lets the agent of this role ask for a wait, once.
fn ask_for_wait(project: &Project, task: &str, role: &str, time: &str) {
    fs::write(project.outside("marks").join(format!("wish-wait-{task}-{role}")), time).unwrap();
}

fn parking_work<'a>(project: &'a Project, args: &[&str]) -> Call<'a> {
    work(project, &["--until-idle"]).args(args).env("RALPH_LIMITS_PARK_AFTER", "1s")
}

fn loops(project: &Project) -> Vec<Value> {
    beside(project, &["status", "--json"]).expect(0).json().as_array().unwrap().clone()
}

fn status_of(project: &Project, id: &str) -> Value {
    let named = |entry: &Value| entry["task"] == id || entry["id"] == id;
    loops(project).into_iter().find(named).unwrap_or_default()["status"].clone()
}

/// Returns the runs of a task with their iterations and attempts.
fn coder_attempts(project: &Project, task: &str) -> usize {
    starts(project).into_iter().filter(|start| *start == format!("{task} coder")).count()
}

// spec: L18, P4
#[test]
fn a_parked_task_leaves_its_slot_to_another_and_the_same_worker_continues_it() {
    let project = project(&[("T-1", "  priority: 1\n"), ("T-2", "  priority: 2\n")]);
    ask_for_wait(&project, "T-1", "coder", "8s");
    let answer = parking_work(&project, &["--slots", "1"]).output().expect(0);
    let parked = answer.events_named("task.parked");
    assert_eq!((parked.len(), &parked[0]["task"], &parked[0]["stage"]), (1, &"T-1".into(), &"coder".into()));
    let order = starts(&project);
    assert_eq!(order[..2], ["T-1 coder", "T-2 coder"], "the slot was free: {order:?}");
    assert_eq!(coder_attempts(&project, "T-1"), 2, "the wait was continued once");
    let coder = &shown(&project, "T-1")["runs"][0];
    assert_eq!((&coder["outcome"], &coder["iterations"].as_array().map(Vec::len)), (&"completed".into(), &Some(1)));
    assert_eq!(statuses(&project), [("T-1".to_owned(), "done".to_owned()), ("T-2".to_owned(), "done".to_owned())]);
}

// spec: L18, L13
#[test]
fn a_parked_task_survives_its_worker_and_one_of_the_next_workers_continues_it_once() {
    let project = project(&[("T-1", "")]);
    ask_for_wait(&project, "T-1", "coder", "10s");
    let first = parking_work(&project, &[]).start();
    first.wait_for_event("task.parked");
    assert_eq!(status_of(&project, "T-1"), "parked");
    let line = beside(&project, &["status"]).expect(0).stdout;
    assert!(line.contains("parked for 10s: the build runs") && line.contains("ralph work resumes it"), "{line}");
    first.signal(Signal::KILL);
    first.wait_without_invariants();
    let workers = [parking_work(&project, &[]).start(), parking_work(&project, &[]).start()];
    workers.into_iter().for_each(|worker| drop(worker.wait_without_invariants().expect(0)));
    assert_eq!(statuses(&project), [("T-1".to_owned(), "done".to_owned())]);
    assert_eq!(coder_attempts(&project, "T-1"), 2, "{:?}", starts(&project));
}

// spec: L18, L11
#[test]
fn a_parked_task_can_be_cancelled_and_its_worker_does_not_wait_for_it() {
    let project = project(&[("T-1", "")]);
    ask_for_wait(&project, "T-1", "coder", "5h");
    let worker = parking_work(&project, &[]).start();
    worker.wait_for_event("task.parked");
    beside(&project, &["cancel", "T-1"]).expect(0);
    worker.wait().expect(0);
    assert_eq!(statuses(&project), [("T-1".to_owned(), "cancelled".to_owned())]);
}

// spec: L18, L6
#[test]
fn a_long_rate_limit_parks_a_task_until_the_reset() {
    let project = project(&[("T-1", "")]);
    let done = "init\nsay Done.\\n\\n<promise>{p}</promise>\nwrite done-T-1 x\ncommit work\nresult Done.\\n\\n<promise>IMPLEMENTATION_COMPLETE</promise>\n";
    project.agents(
        &[("mine", &format!("open\nlimit 5\nexit 1\n---\n{}", done.replace("{p}", "IMPLEMENTATION_COMPLETE")))],
        "",
    );
    let call =
        project.ralph(["work", "--until-idle", "--agent", "mine", "--json"]).env("RALPH_PIPELINE_STAGES", "coder");
    let answer = call.env("RALPH_LIMITS_PARK_AFTER", "1s").output().expect(0);
    assert_eq!(answer.events_named("limit.waiting").len(), 1, "{}", answer.stdout);
    assert_eq!(answer.events_named("task.parked").len(), 1, "{}", answer.stdout);
    let coder = &shown(&project, "T-1")["runs"][0];
    assert_eq!((&coder["outcome"], &coder["iterations"].as_array().map(Vec::len)), (&"completed".into(), &Some(1)));
}

/// Asks for this wait first, and claims completion afterwards.
fn waiting_agent(time: &str) -> String {
    format!(
        "cat > /dev/null; echo >> count\n\
         if [ \"$(wc -l < count)\" -ge 2 ]; then echo '<promise>COMPLETE</promise>'; else echo '<wait for=\"{time}\">the build runs</wait>'; fi"
    )
}

fn detach_waiting(project: &Project, time: &str) -> BackgroundRun {
    let agent = project.shell(&waiting_agent(time));
    let call = project.ralph(["run", "do the work", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"]);
    let call = call.args(["--json", "--detach"]).env("RALPH_LIMITS_PARK_AFTER", "1s");
    BackgroundRun::from_receipt(&call.start().wait_without_invariants().expect(0).json())
}

// spec: L18, L15
#[test]
fn a_background_run_releases_the_work_tree_while_it_is_parked_and_continues_by_itself() {
    let project = Project::new();
    let run = detach_waiting(&project, "8s");
    wait_until("it is parked", || status_of(&project, &run.run) == "parked");
    let other = detach(&project, &["complete"], &[]);
    other.wait_for_end();
    let log = project.state().join("runs").join(&run.run).join("detached.log");
    let show = run.wait_and_show(&project);
    assert_eq!((&show["outcome"], show["iterations"].as_array().unwrap().len()), (&"completed".into(), 1));
    assert_eq!(fs::read_to_string(project.root().join("count")).unwrap().lines().count(), 2);
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("parked    until ") && log.contains("completed after 1 iteration"), "{log}");
}

// spec: L18, L13
#[test]
fn a_parked_background_run_whose_process_is_gone_is_resumed_by_a_person_once() {
    let project = Project::new();
    let run = detach_waiting(&project, "6s");
    wait_until("it is parked", || status_of(&project, &run.run) == "parked");
    run.signal(Signal::KILL);
    run.wait_for_end();
    let answer = project.ralph(["resume", &run.run, "--json"]).output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert_eq!(text(&answer.events_named("run.resumed")[0]["next"]), "limit");
    assert_eq!(fs::read_to_string(project.root().join("count")).unwrap().lines().count(), 2);
}

/// Starts ralph as after a reboot: the machine has another boot id, so that recorded processes count as gone although
/// their numbers are in use. Where a user may not change what he sees of the machine, only the stopped process is tested.
fn after_reboot<'a>(project: &Project, call: Call<'a>) -> Call<'a> {
    let boot_id = project.outside("boot-id");
    fs::write(&boot_id, "00000000-1111-2222-3333-444444444444\n").unwrap();
    let mount = format!("mount --bind '{}' /proc/sys/kernel/random/boot_id", boot_id.display());
    let unshare = |script: &str| ["-r", "-m", "sh", "-c", script, "sh"].map(str::to_owned);
    let tried = std::process::Command::new("unshare").args(unshare(&mount)).output();
    match tried.is_ok_and(|output| output.status.success()) {
        true => call.run_under("unshare", unshare(&format!("{mount} && exec \"$@\""))),
        false => call,
    }
}

// spec: L18, L13
#[test]
fn a_parked_background_run_is_resumed_after_a_reboot_once() {
    let project = Project::new();
    let run = detach_waiting(&project, "6s");
    wait_until("it is parked", || status_of(&project, &run.run) == "parked");
    run.signal(Signal::STOP);
    let resume = project.ralph(["resume", &run.run, "--json"]);
    let answer = after_reboot(&project, resume).start().wait_without_invariants().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert_eq!(text(&answer.events_named("run.resumed")[0]["next"]), "limit");
    // The process of the earlier boot finds the run taken over.
    run.signal(Signal::CONT);
    run.wait_for_end();
    assert_eq!(fs::read_to_string(project.root().join("count")).unwrap().lines().count(), 2);
}

// spec: L18, L13
#[test]
fn a_parked_task_is_continued_after_a_reboot_once() {
    let project = project(&[("T-1", "")]);
    ask_for_wait(&project, "T-1", "coder", "6s");
    let first = parking_work(&project, &[]).start();
    first.wait_for_event("task.parked");
    first.signal(Signal::STOP);
    after_reboot(&project, parking_work(&project, &[])).start().wait_without_invariants().expect(0);
    first.signal(Signal::KILL);
    first.wait_without_invariants();
    assert_eq!(statuses(&project), [("T-1".to_owned(), "done".to_owned())]);
    assert_eq!(coder_attempts(&project, "T-1"), 2, "{:?}", starts(&project));
}

// spec: L18
#[test]
fn a_run_in_a_terminal_keeps_waiting() {
    let project = Project::new();
    let call = project.run_shell(&waiting_agent("2s")).env("RALPH_LIMITS_PARK_AFTER", "1s");
    let answer = call.output().expect(0);
    assert_eq!(
        (answer.finished()["outcome"].clone(), answer.events_named("run.resumed").len()),
        ("completed".into(), 0)
    );
}
