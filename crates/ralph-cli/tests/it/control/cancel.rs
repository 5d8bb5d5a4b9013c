//! `ralph cancel` from another process ends a loop in any state and leaves no process.
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Call, CallOutput, FAKE_AGENT, Project, Running, WAIT_TIMEOUT, wait_until};
use crate::process_table::state_of;

/// Calls ralph while a loop may be active beside it.
pub fn beside(project: &Project, args: &[&str]) -> CallOutput {
    project.ralph(args).timeout(WAIT_TIMEOUT * 2).start().wait_without_invariants()
}

/// Returns the id of the run that was started.
pub fn id_of(running: &Running<'_>) -> String {
    running.wait_for_event("run.started")["run"].as_str().unwrap().to_owned()
}

/// Returns the end of an id, as people write it.
pub fn short(id: &str) -> &str {
    &id[id.len() - 8..]
}

#[track_caller]
fn was_cancelled(answer: &CallOutput) {
    let end = answer.finished();
    assert_eq!((&end["outcome"], &end["exit_code"]), (&"cancelled".into(), &9.into()));
}

/// A project with one task, whose coder needs no check.
pub fn with_task() -> Project {
    let project = Project::new();
    project.write(
        "task.yaml",
        "task:\n  id: T-1\n  spec_id: s\n  title: Add a login\n  completion:\n    outcome: People can log in\n    \
         acceptance_criteria: [a]\n    coder:\n      promise: COMPLETE\n      verification_method: string_match\n      \
         max_iterations: 15\n",
    );
    project.ralph(["task", "import", "task.yaml"]).output().expect(0);
    project
}

/// Prepares the coder's stage of that task.
pub fn stage<'a>(project: &'a Project, mode: &[&str]) -> Call<'a> {
    let agent = ["task", "run", "T-1", "--json", "--agent", "text", "--agent-cmd", FAKE_AGENT];
    let call = project.ralph(agent).env("RALPH_VERIFICATION_ROLE_CHECKS", "off");
    call.args(mode.iter().map(|arg| format!("--agent-arg={arg}")))
}

pub fn task_status(project: &Project) -> String {
    let tasks = beside(project, &["task", "list", "--json"]).expect(0).json();
    tasks[0]["status"].as_str().unwrap().to_owned()
}

// spec: L11, L2, U3
#[test]
fn a_cancel_ends_an_active_loop_and_says_where_it_was() {
    let project = Project::new();
    let running = project.run(&["hang"]).args(["--max-iterations", "15"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    let call = beside(&project, &["cancel", short(&id)]).expect(0);
    assert_eq!(call.stdout, format!("Cancelled Ralph loop for {} at iteration 1/15\n", short(&id)));
    assert!(project.processes_of_runs().is_empty(), "nothing is left when it says so");
    let answer = running.wait().expect(9);
    was_cancelled(&answer);
    assert_eq!(answer.events_named("stop.requested")[0]["reason"], "ralph cancel asked the run to end");
    let again = project.ralph(["resume", &id]).output().expect(9);
    assert!(again.stdout.contains("cancelled: cancelled by ralph cancel"), "{}", again.stdout);
    assert_eq!(project.starts().len(), 1, "a cancelled run is not revived");
}

// spec: L11, A7
// fault: 24
#[test]
fn an_agent_that_ignores_signals_and_its_daemons_are_killed_after_the_grace() {
    let project = Project::new();
    let deaf = "trap '' TERM INT HUP\nsetsid sh -c 'trap \"\" TERM; sleep 600 & wait' &\n(setsid sleep 600 &)\n\
                touch ../ready\nwhile :; do sleep 600; done";
    let running = project.run_shell(deaf).args(["--grace", "300ms"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    beside(&project, &["cancel", &id]).expect(0);
    assert!(project.processes_of_runs().is_empty());
    let answer = running.wait().expect(9);
    assert_eq!(answer.events_named("attempt.ended")[0]["result"]["ending"]["signal"], 9);
}

// spec: L11, U3, T3
#[test]
fn a_cancel_by_the_name_of_its_task_cancels_the_task_and_a_retry_makes_it_ready_again() {
    let project = with_task();
    let running = stage(&project, &["hang"]).start();
    project.wait_for("ready");
    assert_eq!(task_status(&project), "coding");
    let call = beside(&project, &["ralph-cancel", "T-1"]).expect(0);
    assert_eq!(call.stdout, "Cancelled Ralph loop for T-1 at iteration 1/15\n");
    was_cancelled(&running.wait().expect(9));
    assert_eq!(task_status(&project), "cancelled");
    let call = beside(&project, &["cancel", "T-1"]).expect(0);
    assert_eq!(call.stdout, "T-1 was already cancelled\n");
    assert_eq!(beside(&project, &["retry", "T-1"]).expect(0).stdout, "T-1 is ready again\n");
    assert_eq!(task_status(&project), "todo");
    stage(&project, &["complete"]).output().expect(0);
}

// spec: L11
#[test]
fn a_cancel_during_a_check_kills_it_and_drops_the_claim() {
    let project = Project::new();
    let check = "touch ../checking; sleep 600";
    let call = project.run(&["complete"]).args(["--check", check]).env("RALPH_VERIFICATION_BASELINE", "off");
    let running = call.start();
    let id = id_of(&running);
    project.wait_for("checking");
    beside(&project, &["cancel", &id]).expect(0);
    let answer = running.wait().expect(9);
    was_cancelled(&answer);
    assert!(answer.events_named("verdict").is_empty());
}

// spec: L11, L6
#[test]
fn a_cancel_during_a_rate_limit_wait_takes_effect_at_once() {
    let project = Project::new();
    project.agents(&[("mine", "open\nlimit 3600\nexit 1\n")], "");
    let running = project.run_agent_mine().start();
    let id = id_of(&running);
    running.wait_for_event("limit.waiting");
    beside(&project, &["cancel", &id]).expect(0);
    was_cancelled(&running.wait().expect(9));
}

// spec: L11
#[test]
fn of_two_concurrent_cancels_one_cancels_and_the_other_reports_it_as_done() {
    let project = Project::new();
    let running = project.run(&["slow-term", "0.5"]).args(["--grace", "1h"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    let both = [(); 2].map(|()| project.ralph(["cancel", &id]).start());
    let mut output = both.map(|call| call.wait_without_invariants().expect(0).stdout);
    output.sort();
    assert!(output[0].starts_with("Cancelled Ralph loop for "), "{output:?}");
    assert!(output[1].ends_with(" was already cancelled\n"), "{output:?}");
    let answer = running.wait().expect(9);
    assert_eq!(answer.events_named("stop.requested").len(), 1);
}

// spec: L11
#[test]
fn a_finished_run_is_not_cancelled_and_its_record_is_unchanged() {
    let project = Project::new();
    let id = project.run(&["complete"]).output().expect(0).finished()["run"].as_str().unwrap().to_owned();
    let refused = project.ralph(["cancel", &id]).output().expect(1);
    assert!(refused.stderr.contains("has ended: completed"), "{}", refused.stderr);
    let shown = project.ralph(["show", &id, "--json"]).output().expect(0).json();
    assert_eq!(shown["outcome"], "completed");
}

// spec: L11, L13
// fault: 1
#[test]
fn a_run_whose_ralph_was_killed_is_cancelled_with_its_remaining_processes() {
    let project = Project::new();
    let running = project.run(&["hang"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    let call = project.ralph(["cancel", &id]).output().expect(0);
    assert!(call.stdout.starts_with("Cancelled Ralph loop for "), "{}", call.stdout);
    let journal = project.ralph(["events", &id]).output().expect(0).events();
    let names: Vec<&str> = journal.iter().rev().take(3).map(|fact| fact["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["run.finished", "iteration.ended", "attempt.ended"]);
    project.ralph(["resume", &id]).output().expect(9);
    assert_eq!(project.starts().len(), 1);
}

// spec: L11, L13
#[test]
fn an_interrupted_run_that_is_cancelled_cannot_be_resumed() {
    let project = Project::new();
    let running = project.run(&["hang"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    running.signal(Signal::INT);
    running.wait().expect(130);
    project.ralph(["cancel", &id]).output().expect(0);
    let shown = project.ralph(["show", &id, "--json"]).output().expect(0).json();
    assert_eq!((&shown["outcome"], &shown["iterations"][0]["status"]), (&"cancelled".into(), &"interrupted".into()));
    project.ralph(["resume", &id]).output().expect(9);
}

// spec: L11, L13
#[test]
fn a_request_survives_the_ralph_that_should_have_handled_it() {
    let project = Project::new();
    let running = project.run(&["hang"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    stop(&running);
    beside(&project, &["cancel", &id, "--no-wait"]).expect(0);
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    project.ralph(["resume", &id]).output().expect(9);
    assert_eq!(project.starts().len(), 1, "no agent is started after a cancel");
}

// spec: L11
#[test]
fn a_stopped_ralph_does_not_answer_and_can_be_killed() {
    let project = Project::new();
    let running = project.run(&["hang"]).args(["--grace", "100ms"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    stop(&running);
    let refused = beside(&project, &["cancel", &id]).expect(10);
    assert!(refused.stderr.contains("does not answer: process "), "{}", refused.stderr);
    assert!(refused.stderr.contains("--kill"), "{}", refused.stderr);
    let call = beside(&project, &["cancel", &id, "--kill"]).expect(0);
    assert!(call.stdout.starts_with("Cancelled Ralph loop for "), "{}", call.stdout);
    assert_eq!(running.wait().code(), -9);
    let shown = project.ralph(["show", &id, "--json"]).output().expect(0).json();
    assert_eq!(shown["outcome"], "cancelled");
}

// spec: L11
#[test]
fn a_stopped_ralph_handles_pending_requests_when_it_continues() {
    let project = Project::new();
    let running = project.run(&["hang"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    stop(&running);
    beside(&project, &["cancel", &id, "--no-wait"]).expect(0);
    running.signal(Signal::CONT);
    was_cancelled(&running.wait().expect(9));
}

// spec: L11
#[test]
fn ctrl_c_ends_the_wait_but_not_the_cancellation() {
    let project = Project::new();
    let running = project.run(&["slow-term", "1"]).args(["--grace", "1h"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    let cancel = project.ralph(["cancel", &id]).start();
    running.wait_for_event("stop.requested");
    cancel.signal(Signal::INT);
    let left = cancel.wait_without_invariants().expect(130);
    assert!(left.stderr.contains("stopped waiting; the loop is still being cancelled"), "{}", left.stderr);
    was_cancelled(&running.wait().expect(9));
}

// spec: U1, U3
#[test]
fn unknown_ids_are_refused_with_a_suggestion() {
    let project = with_task();
    for command in ["cancel", "pause", "retry"] {
        let refused = project.ralph([command, "T-2"]).output().expect(64);
        assert!(refused.stderr.contains("there is no task and no run \"T-2\""), "{}", refused.stderr);
        assert!(refused.stderr.contains("did you mean T-1?"), "{}", refused.stderr);
        project.ralph([command, ""]).output().expect(64);
    }
    let nothing = Project::new().ralph(["cancel", "T-1"]).output().expect(64);
    assert!(nothing.stderr.contains("ralph status"), "{}", nothing.stderr);
}

// spec: U3
#[test]
fn an_idle_task_is_cancelled_at_once_and_a_finished_one_is_not() {
    let project = with_task();
    let call = project.ralph(["cancel", "T-1"]).output().expect(0);
    assert_eq!(call.stdout, "Cancelled T-1; no loop was running for it\n");
    assert_eq!(task_status(&project), "cancelled");
    project.ralph(["task", "edit", "T-1", "--status", "done"]).output().expect(0);
    for command in ["cancel", "retry"] {
        let refused = project.ralph([command, "T-1"]).output().expect(1);
        assert!(refused.stderr.contains("T-1 is done"), "{}", refused.stderr);
    }
}

/// Stops ralph with SIGSTOP and waits until it is stopped.
fn stop(running: &Running<'_>) {
    running.signal(Signal::STOP);
    wait_until("ralph is stopped", || state_of(running.pid()) == Some('T'));
}

// spec: L11
#[test]
fn a_cancel_gives_the_grace_and_leaves_nothing_behind() {
    // What a machine as busy as this one needs, where the agent leaves at once.
    let (polite, _) = cancelled(&["hang"], "1h");
    let grace = Duration::from_millis(1_500);
    let (took, printed) = cancelled(&["ignore-term"], "1500ms");
    assert!(took >= grace, "it had its grace: {took:?}");
    let most = grace + Duration::from_secs(1) + polite * 10;
    assert!(took <= most, "it was gone after {took:?}, and {most:?} are allowed (polite: {polite:?})");
    assert!(
        printed.contains("the agent and its checks have at most 1500ms to stop; then they are killed"),
        "{printed}"
    );
}

/// Cancels a loop whose agent has this mode. Returns the recorded duration and the output for people.
fn cancelled(agent: &[&str], grace: &str) -> (Duration, String) {
    let project = Project::new();
    let running = project.run(agent).args(["--grace", grace, "--timeout", "1h"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    let printed = beside(&project, &["cancel", &id]).expect(0).stderr;
    assert!(project.processes_of_runs().is_empty(), "nothing is left when it says so");
    let answer = running.wait().expect(9);
    let at = |name: &str| time(&answer.events_named(name)[0]);
    (at("run.finished") - at("stop.requested"), printed)
}

fn time(fact: &Value) -> Duration {
    let at = fact["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    Duration::from_millis(at.as_millisecond().cast_unsigned())
}
