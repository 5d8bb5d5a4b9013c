//! `ralph pause`, `ralph resume` and `ralph guide` from another process.
use std::fs;

use rustix::process::Signal;

use crate::control::cancel::{beside, id_of, short, stage, with_task};
use crate::harness::{Project, Running, wait_until};

fn status(project: &Project) -> serde_json::Value {
    beside(project, &["status", "--json"]).expect(0).json()[0].clone()
}

/// An agent that prints its prompt, and continues when the file with its number exists.
fn waiting_agent(project: &Project) -> String {
    project.script(
        "prompt ../prompt-1\ntouch ../at-1\nwait ../go-1\ntext More to do.\n---\nprompt ../prompt-2\n\
         touch ../at-2\nwait ../go-2\ntext Done.\\n\\n{promise}\n",
    )
}

fn release_iteration(project: &Project, number: u32) {
    fs::write(project.outside(&format!("go-{number}")), "").unwrap();
}

fn prompt(project: &Project, number: u32) -> String {
    fs::read_to_string(project.outside(&format!("prompt-{number}"))).unwrap()
}

fn wait_until_paused(running: &Running<'_>) {
    running.wait_for_event("run.paused");
}

// spec: L11
#[test]
fn a_pause_waits_for_the_end_of_the_iteration_and_a_resume_continues() {
    let project = Project::new();
    let script = waiting_agent(&project);
    let running = project.run(&["script", &script]).start();
    let id = id_of(&running);
    project.wait_for("at-1");
    let call = beside(&project, &["pause", &id]).expect(0);
    assert_eq!(
        call.stdout,
        format!("The Ralph loop for {} at iteration 1/10 pauses after this iteration\n", short(&id))
    );
    assert_eq!(status(&project)["pause_requested"], true);
    release_iteration(&project, 1);
    wait_until_paused(&running);
    assert_eq!(status(&project)["status"], "paused");
    assert_eq!(project.starts().len(), 1);
    let call = beside(&project, &["resume", &id]).expect(0);
    assert_eq!(call.stdout, format!("Resumed Ralph loop for {} at iteration 1/10\n", short(&id)));
    project.wait_for("at-2");
    release_iteration(&project, 2);
    let answer = running.wait().expect(0);
    let names: Vec<_> = answer.events().iter().map(|fact| fact["event"].as_str().unwrap().to_owned()).collect();
    let paused = names.iter().position(|name| name == "run.paused").unwrap();
    assert_eq!(names[paused - 1..paused + 3], ["iteration.ended", "run.paused", "run.resumed", "iteration.started"]);
}

// spec: L11
#[test]
fn an_immediate_pause_stops_the_agent_and_its_iteration_is_repeated() {
    let project = Project::new();
    let script = project.script("touch ../at-1\nhang\n---\ntext Done.\\n\\n{promise}\n");
    let running = project.run(&["script", &script]).start();
    let id = id_of(&running);
    project.wait_for("at-1");
    let call = beside(&project, &["pause", &id, "--now"]).expect(0);
    assert_eq!(call.stdout, format!("Paused Ralph loop for {} at iteration 1/10\n", short(&id)));
    assert!(project.processes_of_runs().is_empty(), "no process is left");
    beside(&project, &["resume", &id]).expect(0);
    let answer = running.wait().expect(0);
    let attempts = answer.events_named("attempt.started");
    assert_eq!((attempts.len(), &attempts[1]["iteration"], &attempts[1]["attempt"]), (2, &1.into(), &2.into()));
    assert_eq!(answer.finished()["iterations"], 1);
    assert!(answer.events_named("retry.scheduled").is_empty());
}

// spec: L11, L13
// fault: 1
#[test]
fn a_paused_run_whose_ralph_was_killed_continues_with_a_resume() {
    let project = Project::new();
    let script = waiting_agent(&project);
    let running = project.run(&["script", &script]).start();
    let id = id_of(&running);
    project.wait_for("at-1");
    beside(&project, &["pause", &id]).expect(0);
    release_iteration(&project, 1);
    wait_until_paused(&running);
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    assert_eq!(status(&project)["status"], "died");
    release_iteration(&project, 2);
    let answer = project.ralph(["resume", &id, "--json"]).output().expect(0);
    assert_eq!(answer.finished()["iterations"], 2);
    assert_eq!(project.starts().len(), 2, "what was finished is not done again");
}

// spec: L11, L12
#[test]
fn ctrl_c_ends_a_paused_run_and_a_cancel_ends_it_for_good() {
    for (end, code) in [("signal", 130), ("cancel", 9)] {
        let project = Project::new();
        let script = waiting_agent(&project);
        let running = project.run(&["script", &script]).start();
        let id = id_of(&running);
        project.wait_for("at-1");
        beside(&project, &["pause", &id, "--now"]).expect(0);
        match end {
            "signal" => running.signal(Signal::INT),
            _ => drop(beside(&project, &["cancel", &id]).expect(0)),
        }
        running.wait().expect(code);
    }
}

// spec: L11
#[test]
fn a_run_without_an_active_ralph_cannot_be_paused() {
    let project = Project::new();
    let id = project.run(&["complete"]).output().expect(0).finished()["run"].as_str().unwrap().to_owned();
    let refused = project.ralph(["pause", &id]).output().expect(1);
    assert!(refused.stderr.contains("no loop is running for"), "{}", refused.stderr);
}

// spec: U3, L4
#[test]
fn guidance_is_in_the_next_prompt_without_a_valid_promise() {
    let project = Project::new();
    let script = waiting_agent(&project);
    let running = project.run(&["script", &script]).start();
    let id = id_of(&running);
    project.wait_for("at-1");
    fs::write(project.outside("hint"), "second: <promise>COMPLETE</promise> is no answer\n").unwrap();
    let output = beside(&project, &["guide", short(&id), "first: leave the parser alone"]).expect(0);
    assert!(output.stdout.ends_with("it is part of the next prompt\n"), "{}", output.stdout);
    let file = format!("@{}", project.outside("hint").display());
    beside(&project, &["guide", &id, &file]).expect(0);
    let call = project.ralph(["guide", &id, "-"]).input("third: from a pipe\n");
    call.start().wait_without_invariants().expect(0);
    release_iteration(&project, 1);
    project.wait_for("at-2");
    let prompt = prompt(&project, 2);
    let (before, after) = prompt.split_once("## Guidance").unwrap();
    assert!(before.contains("<promise>COMPLETE</promise>"), "the prompt asks for it once: {prompt}");
    assert!(!after.contains("<promise>"), "{after}");
    let places = ["> first: leave", "> second: ", "> third: from a pipe"].map(|words| after.find(words).unwrap());
    assert!(places.is_sorted(), "{after}");
    release_iteration(&project, 2);
    let answer = running.wait().expect(0);
    assert_eq!(answer.events_named("run.guided").len(), 3, "it stays in the journal");
}

// spec: U3
#[test]
fn guidance_for_an_idle_task_waits_for_its_stage() {
    let project = with_task();
    let call = project.ralph(["guide", "T-1", "mind the gap"]).output().expect(0);
    assert_eq!(call.stdout, "Stored for T-1; no loop is running for it now\n");
    let script = project.script("prompt ../prompt-1\ntext Done.\\n\\n{promise}\n");
    let answer = stage(&project, &["script", &script]).output().expect(0);
    assert!(prompt(&project, 1).contains("> mind the gap\n"), "{}", prompt(&project, 1));
    assert_eq!(answer.events()[1]["event"], "run.guided");
    let _ = fs::remove_file(project.outside("starts"));
    let refused = project.ralph(["guide", "T-1", " "]).output().expect(64);
    assert!(refused.stderr.contains("the guidance is empty"), "{}", refused.stderr);
}

// spec: U3, L13
#[test]
fn guidance_for_an_interrupted_run_is_in_the_first_prompt_after_it() {
    let project = Project::new();
    let script = waiting_agent(&project);
    let running = project.run(&["script", &script]).start();
    let id = id_of(&running);
    project.wait_for("at-1");
    running.signal(Signal::INT);
    running.wait().expect(130);
    let call = project.ralph(["guide", &id, "mind the gap"]).output().expect(0);
    assert!(call.stdout.starts_with("Stored for "), "{}", call.stdout);
    release_iteration(&project, 2);
    project.ralph(["resume", &id]).output().expect(0);
    assert!(prompt(&project, 2).contains("> mind the gap\n"), "{}", prompt(&project, 2));
}

// spec: L11
// fault: 91
#[test]
fn a_hundred_concurrent_requests_are_each_handled_once() {
    let project = Project::new();
    let script = waiting_agent(&project);
    let running = project.run(&["script", &script]).start();
    let id = id_of(&running);
    project.wait_for("at-1");
    let words: Vec<String> = (0..100).map(|number| format!("word-{number:03}")).collect();
    let calls: Vec<_> = words.iter().map(|words| project.ralph(["guide", &id, words]).start()).collect();
    for call in calls {
        call.wait_without_invariants().expect(0);
    }
    release_iteration(&project, 1);
    project.wait_for("at-2");
    let prompt = prompt(&project, 2);
    release_iteration(&project, 2);
    let answer = running.wait().expect(0);
    let mut printed: Vec<String> =
        answer.events_named("run.guided").iter().map(|fact| fact["words"].as_str().unwrap().to_owned()).collect();
    printed.sort();
    assert_eq!(printed, words);
    assert!(words.iter().all(|words| prompt.matches(words.as_str()).count() == 1));
}

// spec: L11
#[test]
fn a_request_is_found_although_its_notification_was_lost() {
    let project = Project::new();
    let running = project.run(&["hang"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    write_request_without_notification(&project, &id);
    running.wait().expect(9);
}

/// Writes a request as `ralph cancel` does, without the notification.
fn write_request_without_notification(project: &Project, run: &str) {
    use sqlx::{ConnectOptions, Connection};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let path = project.state().join("ralph.db");
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
        let mut connection = options.connect().await.unwrap();
        let sql =
            "INSERT INTO orders (id, run, kind, body, at) VALUES ('o', $1, 'cancel', '{\"order\":\"cancel\"}', 0)";
        sqlx::query(sql).bind(run.to_owned()).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    });
}

// spec: L11
#[test]
fn a_pause_during_a_rate_limit_wait_starts_at_once() {
    let project = Project::new();
    project.agents(&[("mine", "open\nlimit 3600\nexit 1\n")], "");
    let running = project.run_agent_mine().start();
    let id = id_of(&running);
    running.wait_for_event("limit.waiting");
    let call = beside(&project, &["pause", &id]).expect(0);
    assert!(call.stdout.starts_with("Paused Ralph loop for "), "{}", call.stdout);
    beside(&project, &["resume", &id]).expect(0);
    wait_until("it waits again", || status(&project)["status"] == "rate_limited");
    beside(&project, &["cancel", &id]).expect(0);
    running.wait().expect(9);
}
