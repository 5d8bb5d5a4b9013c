//! Processes that an agent or a check leaves behind: none survives, and killed ones are reported.
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{CallOutput, Project, wait_until};
use crate::process_table::{is_alive, parent_of};

fn killed(answer: &CallOutput) -> Value {
    answer.events_named("attempt.ended").pop().unwrap()["result"]["leftovers"]["killed"].clone()
}

fn pid_in(project: &Project, name: &str) -> u32 {
    let text = std::fs::read_to_string(project.outside(name)).unwrap();
    text.trim().parse().unwrap()
}

// fault: 21
// spec: A7
#[test]
fn a_grandchild_that_holds_stdout_neither_delays_the_claim_nor_survives() {
    let project = Project::new();
    let answer = project.run(&["grandchild", "600"]).output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert_eq!(killed(&answer), 1);
}

// fault: 21
// spec: A7
#[test]
fn killed_leftover_processes_are_reported_to_people() {
    let project = Project::new();
    let answer = project.run_on("do the work", &["grandchild", "600"]).output().expect(0);
    assert!(answer.stderr.contains("1 process left behind by the agent, killed"), "{}", answer.stderr);
}

// fault: 22
// spec: A7, S2
#[test]
fn a_grandchild_is_killed_before_it_can_print_a_promise() {
    let project = Project::new();
    let call = project.run(&["grandchild-writes", "30"]).args(["--max-iterations", "1"]);
    let answer = call.output().expect(3);
    assert!(killed(&answer).as_u64().unwrap() >= 1);
    assert_eq!(project.log("iteration-001.ndjson"), b"main part says: not finished\n");
}

/// The child waits until its parent is gone, and then a little, so that the end has been noticed. It stays, so that
/// its output is read while it lives.
const LATE_PROMISE: &str = "(while kill -0 $$ 2>/dev/null; do :; done
sleep 0.25; echo late; echo '<promise>COMPLETE</promise>'; sleep 600) 2>/dev/null &
echo 'not finished'";

// fault: 22
// spec: S2, S4
#[test]
fn a_promise_printed_after_the_agent_ended_is_logged_with_a_mark_and_is_not_a_claim() {
    // Under load the child may be killed before it speaks; then it is tried again.
    wait_until("late words were heard", || {
        let project = Project::new();
        let answer = project.run_shell(LATE_PROMISE).args(["--max-iterations", "1"]).output().expect(3);
        assert_eq!(answer.events_named("claim")[0]["claim"]["claimed"], false);
        let log = String::from_utf8(project.log("iteration-001.ndjson")).unwrap();
        let mark = "not finished\n\n[ralph: the following output was printed after the agent had exited]\nlate\n";
        log.starts_with(mark)
    });
}

// fault: 23
// spec: A7
#[test]
fn a_daemon_of_the_agent_is_found_killed_and_reported() {
    let project = Project::new();
    let file = project.outside("daemon.pid");
    let call = project.run(&["daemon", file.to_str().unwrap()]).args(["--max-iterations", "1"]);
    let answer = call.output().expect(3);
    assert_eq!(killed(&answer), 1);
    assert!(!is_alive(pid_in(&project, "daemon.pid")));
}

// fault: 28
// spec: A7, L12
#[test]
fn three_hundred_children_are_gone_after_a_signal() {
    let project = Project::new();
    let running = project.run(&["forkbomb-lite", "300"]).start();
    project.wait_for("ready");
    assert!(project.processes_of_runs().len() > 300);
    running.signal(Signal::TERM);
    running.wait().expect(143);
}

// fault: 28
// spec: A7
#[test]
fn three_hundred_children_that_outlive_their_agent_are_killed_and_counted() {
    let project = Project::new();
    let agent = "for n in $(seq 300); do sleep 600 & done\necho '<promise>COMPLETE</promise>'";
    let answer = project.run_shell(agent).output().expect(0);
    assert_eq!(killed(&answer), 300);
}

// fault: 38
// spec: A7
#[test]
fn a_child_in_another_session_without_our_environment_is_found_too() {
    let project = Project::new();
    let agent = "env -i setsid sh -c 'echo $$ > ../pid.new; mv ../pid.new ../pid; exec sleep 600' &
until test -e ../pid; do sleep 0.01; done
echo '<promise>COMPLETE</promise>'";
    let answer = project.run_shell(agent).output().expect(0);
    assert_eq!(killed(&answer), 1);
    assert!(!is_alive(pid_in(&project, "pid")));
}

// fault: 38
// spec: A7, L7
#[test]
fn an_agent_that_moved_to_another_session_is_stopped_at_its_timeout() {
    let project = Project::new();
    let agent = "setsid sh -c 'echo $$ > ../pid; exec sleep 600'";
    let limits = ["--timeout", "3s", "--grace", "200ms", "--max-iterations", "1"];
    let answer = project.run_shell(agent).args(limits).output().expect(3);
    assert_eq!(answer.events_named("iteration.ended")[0]["status"], "timed_out");
    assert!(!is_alive(pid_in(&project, "pid")));
}

// fault: 72
// spec: V2, A7
#[test]
fn processes_left_by_a_check_neither_delay_the_verdict_nor_survive() {
    let project = Project::new();
    let answer = project.run(&["complete"]).args(["--check", "sh -c 'sleep 600 & true'"]).output().expect(0);
    let verdict = &answer.events_named("verdict")[0];
    assert_eq!(verdict["verdict"], "accepted");
    assert_eq!(verdict["checks"][0]["leftovers"], 1);
}

// fault: 72
// spec: V2, A7
#[test]
fn a_daemon_of_a_check_is_killed_whatever_the_verdict() {
    let project = Project::new();
    let check = "env -i setsid sh -c 'echo $$ > ../pid.new; mv ../pid.new ../pid; exec sleep 600' &
until test -e ../pid; do sleep 0.01; done; exit 4";
    let call = project.run(&["complete"]).args(["--check", check, "--max-iterations", "1"]);
    let answer = call.output().expect(3);
    assert_eq!(answer.events_named("verdict")[0]["checks"][0]["leftovers"], 1);
    assert!(!is_alive(pid_in(&project, "pid")));
}

/// Writes the pid of the agent, whose child has its own session, and stays alive.
const WITH_A_SESSION: &str = "setsid sh -c 'touch ../there; exec sleep 600' &
until test -e ../there; do sleep 0.01; done
echo $$ > ../agent.new; mv ../agent.new ../agent; exec sleep 600";

// fault: 1, 38
// spec: A7, L13
#[test]
fn when_ralph_and_the_agent_s_supervisor_are_killed_together_nothing_survives() {
    let project = Project::new();
    let running = project.run_shell(WITH_A_SESSION).start();
    project.wait_for("agent");
    let agent = pid_in(&project, "agent");
    kill_all(&[parent_of(agent).unwrap(), running.pid()]);
    running.wait_without_invariants().expect(-9);
    wait_until("nothing of the run is alive", || project.processes_of_runs().is_empty());
    wait_until("no helper is alive", || project.processes().is_empty());
}

/// Kills them one right after the other, before any of them can react.
fn kill_all(pids: &[u32]) {
    let pids = pids.iter().map(u32::to_string);
    assert!(std::process::Command::new("kill").arg("-KILL").args(pids).status().unwrap().success());
}

/// Kills the keeper of its own run.
const KILLS_KEEPER: &str = "read _ _ _ keeper _ < /proc/$PPID/stat; kill -KILL $keeper
while kill -0 $keeper 2>/dev/null && ! grep -q '^State:.Z' /proc/$keeper/status; do :; done
echo x >> ../runs; ";

#[track_caller]
fn assert_keeper_lost(answer: &CallOutput) {
    let finished = answer.finished();
    assert_eq!(finished["outcome"], "failed");
    let reason = finished["reason"].as_str().unwrap();
    assert!(reason.contains("keeper process (rk-keeper) was killed"), "{reason}");
    assert!(answer.events_named("retry.scheduled").is_empty(), "nothing is tried again");
}

// spec: L5, A7
#[test]
fn a_run_whose_keeper_was_killed_ends_at_once_with_the_reason() {
    let project = Project::new();
    let answer = project.run_shell(&format!("{KILLS_KEEPER}echo 'More to do.'")).output().expect(4);
    assert_keeper_lost(&answer);
    assert_eq!(answer.finished()["iterations"], 2, "the first one could still end well");
    assert_eq!(std::fs::read_to_string(project.outside("runs")).unwrap(), "x\n");
}

// spec: L5, V2
#[test]
fn without_a_keeper_no_check_runs_and_no_claim_is_accepted() {
    let project = Project::new();
    let agent = format!("{KILLS_KEEPER}echo '<promise>COMPLETE</promise>'");
    let answer = project.run_shell(&agent).args(["--check", "true"]).output().expect(4);
    assert_keeper_lost(&answer);
    assert_eq!(answer.events_named("verdict")[0]["verdict"], "could_not_evaluate");
}

// spec: A7
#[test]
fn a_keeper_that_the_agent_has_stopped_ends_with_the_run() {
    let project = Project::new();
    let agent = "read _ _ _ keeper _ < /proc/$PPID/stat; kill -STOP $keeper
echo $keeper > ../keeper; echo '<promise>COMPLETE</promise>'";
    project.run_shell(agent).output().expect(0);
    assert!(!is_alive(pid_in(&project, "keeper")));
}
