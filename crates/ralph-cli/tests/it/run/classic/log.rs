//! The session log: header, raw output, footer, summary.
use std::fs;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use super::{log, logs, project, run, run_for_people, run_shell};
use crate::harness::wait_until;

/// Replaces what differs from run to run.
fn normalised(log: &str) -> String {
    let line = |line: &str| match line.split_once(": ") {
        Some((key @ ("Start Time" | "End Time"), time)) => format!("{key}: {}", shape(time)),
        Some((key @ ("Duration" | "Total Duration"), _)) => format!("{key}: [duration]"),
        _ => line.to_owned(),
    };
    log.lines().map(|text| line(text) + "\n").collect()
}

/// Replaces each digit, so that the form remains.
fn shape(time: &str) -> String {
    time.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect()
}

// spec: C5
#[test]
fn the_session_log_has_every_iteration_retry_and_result() {
    let project = project();
    let script = project.script(
        "init\nsay Half of it.\nresult Half of it.\n---\ninit\nfail network\nexit 1\n---\n\
         init\nsay All done.\\n\\n{promise}\nresult All done.\\n\\n{promise}\n",
    );
    let call = run_for_people(&project, &["build", "5"], &["script", &script]).args(["--output-format", "claude"]);
    let answer = call.env("TZ", "<-03>3").output().expect(0);
    insta::assert_snapshot!(normalised(&log(&project)));
    let name = &logs(&project)[0];
    assert_eq!(shape(name), "session-00000000-000000.log");
    assert!(answer.stdout.contains(&format!("logs/{name}")), "{}", answer.stdout);
}

// spec: C5, A4
#[test]
fn both_streams_are_raw_between_header_and_footer() {
    let project = project();
    let script = project.script("text out\\x1b[1m\nstderr err\ntext last words {promise}\n");
    run(&project, &["build", "1"], &["script", &script]).output();
    let log = log(&project);
    let thin = "-".repeat(80);
    let raw = log.split(&format!("{thin}\n")).nth(1).unwrap();
    let mut lines: Vec<&str> = raw.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["err", "last words <promise>COMPLETE</promise>", "out\\x1b[1m"]);
}

// spec: C5
#[test]
fn output_without_a_newline_does_not_spoil_the_footer() {
    let project = project();
    run_shell(&project, &["build", "1"], "printf 'no newline'").output().expect(0);
    assert!(log(&project).contains(&format!("no newline\n{}\nITERATION 1 COMPLETE\n", "-".repeat(80))));
}

// spec: C5, L7
#[test]
fn the_session_log_says_that_an_iteration_timed_out() {
    let project = project();
    let call = run(&project, &["build", "1"], &["hang"]).args(["--timeout", "1s", "--grace", "1s"]);
    call.output().expect(0);
    let log = log(&project);
    assert!(log.contains("thinking...\n[ralph: attempt 1: the iteration took too long]\n"), "{log}");
    assert!(log.contains("Retries: 0\nStatus: timed out\n"), "{log}");
    assert!(log.contains("Total Iterations: 1\nSuccessful: 0\nFailed: 1\n"), "{log}");
    assert!(log.contains("Exit Reason: exhausted: Max iterations reached: the last one timed out\n"), "{log}");
}

// spec: C5, L5
#[test]
fn retries_and_failures_are_counted_and_named() {
    let project = project();
    run(&project, &["build"], &["exit", "7"]).args(["--max-retries", "1"]).output().expect(4);
    let log = log(&project);
    assert!(log.contains("bye\n[ralph: attempt 1: "), "{log}");
    assert!(log.contains("bye\n[ralph: attempt 2: "), "{log}");
    assert!(log.contains("Retries: 1\nStatus: failed\n"), "{log}");
    assert!(log.contains("Exit Reason: failed: the agent failed 2 times in a row: "), "{log}");
    assert!(log.contains("Exit Code: 4\n"), "{log}");
}

// spec: C5, L12
#[test]
fn ctrl_c_leaves_footer_and_summary() {
    let project = project();
    let running = run(&project, &["build"], &["hang"]).start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    running.wait().expect(130);
    let log = log(&project);
    assert!(log.contains("Status: interrupted\n"), "{log}");
    assert!(log.contains("Exit Reason: interrupted: stopped by Ctrl-C\nExit Code: 130\n"), "{log}");
}

// spec: C5
// fault: 36
#[test]
fn a_run_that_loses_its_state_ends_its_log_with_the_reason() {
    let project = project();
    let script = project.script(&format!("remove {}/ralph.db\ntext more\n", project.state().display()));
    run(&project, &["build"], &["script", &script]).output().expect(10);
    let log = log(&project);
    assert!(log.contains("more\n====") && log.contains("SESSION SUMMARY\n"), "{log}");
    assert!(log.contains("Exit Reason: failed: ") && log.contains("Exit Code: 10\n"), "{log}");
}

/// Kills ralph at a named point, resumes, and returns the log of the resumed session.
fn resumed(mode: &[&str], point: &str) -> String {
    let project = project();
    project.write(".ralph/config.yaml", "checks: ['true']\n");
    project.trust();
    let killed = run(&project, &["build"], mode).env("RALPH_FAIL", point).start().wait_without_invariants();
    assert_eq!(killed.code(), -6, "{}{}", killed.stdout, killed.stderr);
    wait_until("everything is gone", || project.processes_of_runs().is_empty());
    let first = logs(&project);
    project.ralph(["resume", "--json"]).output().expect(0);
    let second: Vec<String> = logs(&project).into_iter().filter(|name| !first.contains(name)).collect();
    assert_eq!(second.len(), 1, "a session of its own: {second:?}");
    normalised(&fs::read_to_string(project.root().join(".ralph/logs").join(&second[0])).unwrap())
}

// spec: C5, L13
#[test]
fn a_resumed_run_has_its_own_session_log_that_starts_where_it_resumes() {
    let thin = "-".repeat(80);
    let log = resumed(&["complete-on", "2"], "agent.spawned:2");
    assert!(log.starts_with(&format!("{}\nITERATION 2\n", "=".repeat(80))), "{log}");
    assert!(log.contains(&format!("{thin}\nAll done.\n\n<promise>COMPLETE</promise>\n{thin}\n")), "{log}");
    assert!(log.contains("Retries: 0\nStatus: success\n"), "{log}");
    assert!(log.contains("Total Iterations: 1\nSuccessful: 1\n"), "{log}");

    let log = resumed(&["complete"], "verify.started:1");
    assert!(log.contains(&format!("Mode: build\nStart Time: 0000-00-00T00:00:00+00:00\n{thin}\n{thin}\n")), "{log}");
    assert!(log.contains("ITERATION 1 COMPLETE\n") && log.contains("Exit Reason: completed: "), "{log}");
}

// spec: C5
#[test]
fn a_session_log_whose_name_is_taken_gets_a_number() {
    let project = project();
    let folder = project.root().join(".ralph/logs");
    fs::create_dir_all(&folder).unwrap();
    let now = SystemTime::now();
    let taken: Vec<String> = (0..120_u64)
        .map(|second| {
            let at = jiff::Timestamp::try_from(now + Duration::from_secs(second)).unwrap();
            at.strftime("session-%Y%m%d-%H%M%S.log").to_string()
        })
        .collect();
    taken.iter().for_each(|name| fs::write(folder.join(name), "another file").unwrap());
    run(&project, &["build"], &["complete"]).env("TZ", "UTC").output().expect(0);
    let new: Vec<String> = logs(&project).into_iter().filter(|name| !taken.contains(name)).collect();
    assert_eq!(new.len(), 1, "{new:?}");
    assert!(new[0].ends_with("-2.log"), "{new:?}");
    assert!(taken.iter().all(|name| fs::read(folder.join(name)).unwrap() == b"another file"));
}

// spec: C5
#[test]
fn a_log_that_cannot_be_written_is_reported_once_and_stops_nothing() {
    let project = project();
    project.write(".ralph/logs", "in the way");
    let answer = run(&project, &["build", "2"], &["complete-on", "2"]).output().expect(0);
    let warnings = answer.events_named("warning");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0]["message"].as_str().unwrap().contains("is not complete"), "{warnings:?}");
    assert_eq!(answer.finished()["outcome"], "completed");
}

// spec: C5, D5
// fault: 41
#[test]
fn output_above_the_limit_keeps_head_and_tail_and_all_logs_share_the_limit() {
    let project = project();
    run(&project, &["build"], &["flood", "5"]).args(["--log-limit", "1M"]).output().expect(0);
    let log = log(&project);
    let raw = project.log("iteration-001.ndjson");
    assert!(log.len() + raw.len() < (1 << 20) + 4_000, "{} {}", log.len(), raw.len());
    assert!(log.contains(" bytes are missing here, because the logs of the run reached their limit]\n"));
    let end = log.split_once("reached their limit]\n").unwrap().1;
    assert!(end.contains("<promise>COMPLETE</promise>\n---"), "{end}");
    assert!(log.contains("Status: success\n") && log.contains("Exit Code: 0\n"));
}

// spec: C5, X3
// fault: 84
#[test]
fn secrets_do_not_reach_the_log() {
    let project = project();
    let secret = "correct-horse-battery-staple";
    let agent =
        "echo \"key $MY_API_TOKEN\"; echo \"err $MY_API_TOKEN\" >&2; echo \"<blocked>no $MY_API_TOKEN</blocked>\"";
    run_shell(&project, &["build"], agent).env("MY_API_TOKEN", secret).output().expect(6);
    let log = log(&project);
    assert!(!log.contains(secret), "{log}");
    assert!(log.contains("key [redacted") && log.contains("Exit Reason: blocked: "), "{log}");
}

// spec: C5, A4
#[test]
fn large_output_is_logged_completely() {
    let project = project();
    run(&project, &["build"], &["flood", "20"]).output().expect(0);
    let raw = project.log("iteration-001.ndjson");
    let log = log(&project).into_bytes();
    assert!(raw.len() > 20_000_000);
    assert!(log.windows(1).len() > raw.len());
    let start = log.len() - log.iter().rev().position(|byte| *byte == b'>').unwrap();
    assert!(log[..start].ends_with(raw.trim_ascii_end()), "the raw output is in it byte for byte");
}
