//! Waits that an agent asks for with `<wait>`.
use rustix::process::Signal;

use crate::control::cancel::{beside, id_of};
use crate::harness::{Project, wait_until};

/// Asks for this wait first, and claims completion afterwards.
fn waiting_agent(tag: &str) -> String {
    format!(
        r#"cat >> "$(dirname "$0")/prompts"; echo >> count
if [ "$(wc -l < count)" -ge 2 ]; then echo '<promise>COMPLETE</promise>'; else echo '{tag}'; fi"#
    )
}

// spec: L17
#[test]
fn a_run_waits_as_its_agent_asked_and_continues_the_same_iteration() {
    let project = Project::new();
    let agent = waiting_agent(r#"<wait for="1s">the build runs</wait>"#);
    let answer = project.run_shell(&agent).args(["--max-iterations", "1"]).output().expect(0);
    assert_eq!(answer.finished()["iterations"], 1);
    let waits = answer.events_named("agent.waiting");
    assert_eq!((&waits[0]["delay_ms"], &waits[0]["reason"]), (&1_000.into(), &"the build runs".into()));
    let prompts = std::fs::read_to_string(project.outside("prompts")).unwrap();
    assert!(prompts.contains("## Your wait is over\n\nYou asked to wait: the build runs\n"), "{prompts}");
}

// spec: L17
#[test]
fn a_wait_is_shown_with_its_reason_and_survives_the_death_of_ralph() {
    let project = Project::new();
    let agent = waiting_agent(r#"<wait for="5h">the build runs</wait>"#);
    let running = project.run_shell(&agent).args(["--max-iterations", "1"]).start();
    let run = id_of(&running);
    running.wait_for_event("agent.waiting");
    let status = || beside(&project, &["status", "--json"]).expect(0).json()[0].clone();
    assert_eq!((&status()["status"], &status()["wait_reason"]), (&"waiting".into(), &"the build runs".into()));
    let printed = beside(&project, &["status"]).expect(0).stdout;
    assert!(printed.contains(": the build runs\n"), "{printed}");
    let wake_time = status()["until"].clone();
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    let resumed = project.ralph(["resume", &run, "--json"]).start();
    wait_until("it waits again", || status()["status"] == "waiting");
    assert_eq!(status()["until"], wake_time, "the wake time is kept");
    assert_eq!(
        std::fs::read_to_string(project.root().join("count")).unwrap().lines().count(),
        1,
        "no agent was started"
    );
    beside(&project, &["cancel", &run]).expect(0);
    resumed.wait().expect(9);
}

// spec: L17
#[test]
fn a_malformed_or_mentioned_wait_is_not_a_wait_and_the_prompt_says_so() {
    let project = Project::new();
    let agent = waiting_agent(r#"<wait until="tomorrow">the build runs</wait>"#);
    let answer = project.run_shell(&agent).args(["--max-iterations", "2"]).output().expect(0);
    assert_eq!((answer.finished()["iterations"].clone(), answer.events_named("agent.waiting").len()), (2.into(), 0));
    let prompts = std::fs::read_to_string(project.outside("prompts")).unwrap();
    assert!(prompts.contains("asked for a wait without a valid time"), "{prompts}");
    let project = Project::new();
    let agent = waiting_agent(r#"I could use `<wait for="1h">x</wait>` here, but I will not."#);
    let answer = project.run_shell(&agent).args(["--max-iterations", "2"]).output().expect(0);
    assert_eq!(answer.events_named("agent.waiting").len(), 0);
}

// spec: L17
#[test]
fn a_wait_beyond_the_limit_ends_the_run() {
    let project = Project::new();
    let agent = waiting_agent(r#"<wait for="2h">the build runs</wait>"#);
    let answer = project.run_shell(&agent).env("RALPH_LIMITS_MAX_WAIT", "1h").output().expect(7);
    let reason = answer.finished()["reason"].clone();
    assert_eq!(reason, "the agent asked to wait 2h (the build runs), but the run may wait at most 1h (max_wait)");
}
