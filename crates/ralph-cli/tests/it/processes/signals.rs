//! Signals to ralph: Ctrl-C, SIGTERM, Ctrl-Z, and inherited ignored or blocked signals.
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{CallOutput, Project, Running, let_time_pass, wait_until};
use crate::process_table::state_of;

/// Far longer than any test waits: a run that ends earlier did not wait for it.
const ENDLESS: &str = "1h";

#[track_caller]
fn was_interrupted(answer: &CallOutput) {
    assert_eq!(answer.finished()["outcome"], "interrupted");
    assert_eq!(answer.events_named("iteration.ended").last().unwrap()["status"], "interrupted");
}

fn attempt(answer: &CallOutput) -> Value {
    answer.events_named("attempt.ended").pop().unwrap()["result"].clone()
}

// fault: 14
// spec: L12, L11
#[test]
fn one_ctrl_c_stops_the_agent_gracefully_and_no_iteration_follows() {
    let project = Project::new();
    let running = project.run(&["slow-term", "0.2"]).args(["--grace", ENDLESS]).start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    was_interrupted(&answer);
    assert_eq!(attempt(&answer)["status"], "interrupted");
    assert_eq!(attempt(&answer)["ending"]["how"], "exited", "it could clean up");
    assert_eq!(attempt(&answer)["leftovers"]["killed"], 0);
    assert!(String::from_utf8_lossy(&project.log("iteration-001.ndjson")).contains("cleaned up"));
    assert_eq!(project.starts().len(), 1);
}

// fault: 14
// spec: L12, A7
#[test]
fn ctrl_c_at_the_terminal_reaches_the_agent_only_through_ralph() {
    let project = Project::new();
    let running = project.run(&["slow-term", "0.2"]).args(["--grace", ENDLESS]).start();
    project.wait_for("ready");
    running.signal_group(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(attempt(&answer)["ending"]["how"], "exited", "it heard SIGTERM alone");
}

// fault: 14
// spec: L12
#[test]
fn a_run_stopped_by_ctrl_c_prints_how_it_ended() {
    let project = Project::new();
    let running = project.run_on("do the work", &["hang"]).start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert!(answer.stdout.contains("interrupted after 1 iteration"), "{}", answer.stdout);
    assert!(answer.stdout.contains("stopped by Ctrl-C"), "{}", answer.stdout);
}

// finding: N73
#[test]
fn after_ctrl_c_the_stderr_of_the_agent_is_not_shown_as_a_reason() {
    let project = Project::new();
    let agent = project.shell("echo 'noise on stderr' >&2; : > ../ready; exec sleep 600");
    let running = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", &agent]).start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    let shown = format!("{}{}", answer.stdout, answer.stderr);
    assert!(shown.contains("stopped by Ctrl-C") && !shown.contains("noise on stderr"), "{shown}");
}

// fault: 14, 15
// spec: L12
#[test]
fn ctrl_c_says_how_long_the_agent_has_and_what_a_second_one_does() {
    let project = Project::new();
    let running = project.run_on("do the work", &["ignore-term"]).args(["--grace", ENDLESS]).start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    running.wait_for_stderr("at most 1h to clean up; a second Ctrl-C kills it at once");
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(answer.stderr.matches("second Ctrl-C").count(), 1, "{}", answer.stderr);
}

// fault: 14
// spec: L12, V2
#[test]
fn a_check_has_no_grace_period_and_none_is_announced() {
    let project = Project::new();
    let check = "touch ../checking; sleep 600";
    let running = project.run_on("do the work", &["complete"]).args(["--check", check]).start();
    project.wait_for("checking");
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert!(!answer.stderr.contains("grace"), "{}", answer.stderr);
}

// fault: 14, 24
// spec: L11, L12, A7
#[test]
fn an_agent_that_ignores_the_graceful_stop_is_killed_after_the_grace() {
    let project = Project::new();
    let running = project.run(&["ignore-term"]).args(["--grace", "300ms"]).start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    was_interrupted(&answer);
    assert_eq!(attempt(&answer)["ending"]["signal"], 9);
    assert_eq!(attempt(&answer)["leftovers"]["killed"], 1);
}

/// Sends a signal twice, the second time after the first was handled.
fn signal_twice(first: Signal, second: Signal) -> CallOutput {
    let project = Project::new();
    let running = project.run(&["ignore-term"]).args(["--grace", ENDLESS]).start();
    project.wait_for("ready");
    running.signal(first);
    running.wait_for_event("stop.requested");
    running.signal(second);
    let answer = running.wait();
    was_interrupted(&answer);
    assert_eq!(attempt(&answer)["ending"]["signal"], 9, "killed within the grace: {}", answer.stdout);
    answer
}

// fault: 15
// spec: L12
#[test]
fn a_second_ctrl_c_kills_the_agent_at_once_and_the_record_is_written() {
    signal_twice(Signal::INT, Signal::INT).expect(130);
}

// fault: 16
// spec: L12
#[test]
fn a_second_sigterm_kills_the_agent_at_once() {
    signal_twice(Signal::TERM, Signal::TERM).expect(143);
}

// fault: 15, 16
// spec: L12
#[test]
fn after_two_different_signals_the_exit_code_is_that_of_the_first() {
    signal_twice(Signal::INT, Signal::TERM).expect(130);
}

// fault: 15
// spec: L12
#[test]
fn many_signals_in_a_row_leave_a_valid_record() {
    let project = Project::new();
    let running = project.run(&["ignore-term"]).args(["--grace", ENDLESS]).start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    running.wait_for_event("stop.requested");
    for _ in 0..20 {
        running.signal(Signal::INT);
        running.signal(Signal::TERM);
    }
    was_interrupted(&running.wait().expect(130));
}

// fault: 16
// spec: L12
#[test]
fn sigterm_stops_like_ctrl_c_with_its_own_exit_code() {
    let project = Project::new();
    let running = project.run(&["slow-term", "0.2"]).args(["--grace", ENDLESS]).start();
    project.wait_for("ready");
    running.signal(Signal::TERM);
    let answer = running.wait().expect(143);
    was_interrupted(&answer);
    assert_eq!(attempt(&answer)["leftovers"]["killed"], 0);
    assert!(answer.finished()["reason"].as_str().unwrap().contains("SIGTERM"));
}

// fault: 14
// spec: L12, V2
#[test]
fn ctrl_c_during_a_check_ends_the_check_and_the_claim_is_not_judged() {
    let project = Project::new();
    let check = "touch ../checking; sleep 600";
    let running = project.run(&["complete"]).args(["--no-baseline", "--check", check]).start();
    project.wait_for("checking");
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    was_interrupted(&answer);
    assert!(answer.events_named("verdict").is_empty());
    assert_eq!(project.starts().len(), 1);
}

// fault: 14, 16
// spec: L12, L5
#[test]
fn a_signal_during_the_wait_for_a_retry_ends_the_run_without_another_start() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let project = Project::new();
        let running = project.run(&["exit", "1"]).start();
        running.wait_for_event("retry.scheduled");
        running.signal(signal);
        let answer = running.wait().expect(code);
        was_interrupted(&answer);
        let names: Vec<Value> = answer.events().iter().map(|event| event["event"].clone()).collect();
        let end = &names[names.len() - 2..];
        assert_eq!(end, ["iteration.ended", "run.finished"], "{names:?}");
    }
}

/// Stops ralph by Ctrl-Z and waits until it and its processes are stopped.
pub fn suspend(project: &Project, running: &Running<'_>) {
    running.signal(Signal::TSTP);
    wait_until("ralph is stopped", || state_of(running.pid()) == Some('T'));
    // A shell that was stopped while its new child was, before that became a program, waits for it in the kernel.
    let all_still = || project.processes_of_runs().iter().all(|process| matches!(process.state, 'T' | 'D'));
    wait_until("agents and checks are stopped", all_still);
}

// fault: 18
// spec: L7
#[test]
fn ctrl_z_stops_the_agent_too_and_no_timeout_fires_on_continue() {
    let project = Project::new();
    let go = project.outside("go");
    let limits = ["--timeout", "5s", "--idle-timeout", "5s"];
    let running = project.run(&["wait-file", go.to_str().unwrap()]).args(limits).start();
    project.wait_for("ready");
    suspend(&project, &running);
    assert_eq!(project.processes_of_runs().len(), 1, "the agent lives");
    let_time_pass(Duration::from_millis(5_500));
    std::fs::write(&go, "").unwrap();
    running.signal(Signal::CONT);
    let answer = running.wait().expect(0);
    assert_eq!(answer.events_named("iteration.ended")[0]["status"], "finished");
    assert_eq!(project.starts().len(), 1);
}

// fault: 18
// spec: L7
#[test]
fn after_ctrl_z_a_timeout_waits_for_the_rest_of_its_time() {
    let project = Project::new();
    let limits = ["--timeout", "3s", "--max-iterations", "1"];
    let running = project.run(&["hang"]).args(limits).start();
    project.wait_for("ready");
    suspend(&project, &running);
    let stopped = Instant::now();
    let_time_pass(Duration::from_secs(1));
    let stood = stopped.elapsed();
    running.signal(Signal::CONT);
    let answer = running.wait().expect(3);
    assert_eq!(answer.events_named("iteration.ended")[0]["status"], "timed_out");
    let took = milliseconds_between(&answer, "attempt.started", "attempt.ended");
    assert!(took >= 3_000 + stood.as_millis(), "{took} ms, of them {} ms stopped", stood.as_millis());
}

/// Returns the time between the last events of these names, as they were recorded.
fn milliseconds_between(answer: &CallOutput, first: &str, second: &str) -> u128 {
    let at = |name: &str| {
        let event = answer.events_named(name).pop().unwrap();
        event["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap()
    };
    let between = at(second).duration_since(at(first));
    u128::try_from(between.as_millis()).unwrap()
}

// fault: 18
// spec: V2
#[test]
fn ctrl_z_stops_a_running_check_too() {
    let project = Project::new();
    let check = "touch ../checking; until test -e ../go; do sleep 0.05; done";
    let running = project.run(&["complete"]).args(["--check", check]).start();
    project.wait_for("checking");
    suspend(&project, &running);
    assert!(!project.processes_of_runs().is_empty(), "the check lives");
    std::fs::write(project.outside("go"), "").unwrap();
    running.signal(Signal::CONT);
    let answer = running.wait().expect(0);
    assert_eq!(answer.events_named("verdict")[0]["verdict"], "accepted");
}

// fault: 18
// spec: L5, L7
#[test]
fn ctrl_z_during_the_wait_for_a_retry_stops_the_time_of_the_wait_and_of_the_iteration() {
    let project = Project::new();
    let script = project.script("exit 1\n---\ntext Done.\\n\\n{promise}\n");
    let running = project.run(&["script", &script]).args(["--timeout", "5s"]).start();
    let delay = running.wait_for_event("retry.scheduled")["delay_ms"].as_u64().unwrap();
    suspend(&project, &running);
    let stopped = Instant::now();
    let_time_pass(Duration::from_millis(5_500));
    let stood = stopped.elapsed();
    running.signal(Signal::CONT);
    let answer = running.wait().expect(0);
    assert_eq!(answer.finished()["iterations"], 1, "the iteration did not time out");
    assert_eq!(project.starts().len(), 2);
    let waited = milliseconds_between(&answer, "retry.scheduled", "attempt.started");
    assert!(waited >= u128::from(delay) + stood.as_millis(), "waited {waited} ms instead of {delay} ms");
}

/// Starts ralph with these signals ignored and blocked.
#[expect(unsafe_code, reason = "only between fork and exec can the child's signals be changed")]
fn with_ignored_signals(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let switch_off = || {
        // SAFETY: the set is filled before use; both calls are async-signal-safe and touch this process alone.
        unsafe {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD, libc::SIGTSTP, libc::SIGPIPE] {
                libc::signal(signal, libc::SIG_IGN);
            }
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe { command.pre_exec(switch_off) };
}

// fault: 20
// spec: L12, A7
#[test]
fn inherited_signals_that_are_ignored_and_blocked_reach_ralph_and_its_agent() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let project = Project::new();
        let running = project.run(&["hang"]).args(["--grace", ENDLESS]).with(with_ignored_signals).start();
        project.wait_for("ready");
        running.signal(signal);
        let answer = running.wait().expect(code);
        was_interrupted(&answer);
        assert_eq!(attempt(&answer)["ending"]["signal"], 15, "the agent heard SIGTERM");
    }
}

// fault: 20
// spec: A7
#[test]
fn exit_codes_are_known_where_sigchld_was_inherited_ignored() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--check", "exit 5", "--max-iterations", "1"]);
    let answer = call.with(with_ignored_signals).output().expect(3);
    assert_eq!(attempt(&answer)["ending"]["code"], 0);
    assert_eq!(answer.events_named("verdict")[0]["checks"][0]["exit_code"], 5);
}

// fault: 20
#[test]
fn an_agent_starts_with_no_signal_blocked_or_ignored() {
    let project = Project::new();
    let call = project.run_shell("grep -E 'Sig(Blk|Ign)' /proc/self/status").args(["--max-iterations", "1"]);
    call.with(with_ignored_signals).output().expect(3);
    let log = String::from_utf8(project.log("iteration-001.ndjson")).unwrap();
    let masks = log.lines().map(|line| u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap());
    // Signals from 32 on belong to the C library and are not ours to change.
    let ordinary: Vec<u64> = masks.map(|mask| mask & 0x7fff_ffff).collect();
    assert_eq!(ordinary, [0, 0], "{log}");
}
