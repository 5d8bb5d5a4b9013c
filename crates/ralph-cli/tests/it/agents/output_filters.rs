//! User filters that never end, use all memory or fail do not stop the run.
use std::fs;

use rustix::process::Signal;

use crate::harness::{CallOutput, Project, wait_until};

/// Far longer than any test waits: a run that ends earlier did not wait for it.
const ENDLESS: &str = "1h";

const CLAIM: &str = r#"{"say":"<promise>COMPLETE</promise>"}"#;

/// Returns the warnings of a run with `--json`.
fn warnings(answer: &CallOutput) -> Vec<String> {
    answer.events_named("warning").iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect()
}

/// Returns whether a filter that contains this word is running.
fn is_filter_running(word: &str) -> bool {
    let commands = fs::read_dir("/proc").unwrap().flatten().map(|folder| folder.path().join("cmdline"));
    { commands }.any(|command| {
        let command = String::from_utf8_lossy(&fs::read(command).unwrap_or_default()).replace('\0', " ");
        command.contains("filter-lines") && command.contains(word)
    })
}

/// Returns a filter that differs from those of all other tests, so that its process can be identified.
fn unique_filter(project: &Project, filter: &str) -> (String, String) {
    let word = project.mark.rsplit('/').next().unwrap().to_owned();
    (format!("{filter} # {word}"), word)
}

// spec: A2, L12
#[test]
fn ctrl_c_works_while_a_filter_never_ends() {
    let project = Project::new();
    let (filter, word) = unique_filter(&project, "def f: f; f");
    let agent = format!("echo '{CLAIM}'\ntouch {}\nexec sleep 3600", project.outside("ready").display());
    let running = project.run_shell(&agent).args(["--response-filter", &filter, "--grace", ENDLESS]).start();
    project.wait_for("ready");
    wait_until("the filter is at work", || is_filter_running(&word));
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(answer.finished()["outcome"], "interrupted");
    wait_until("the filter is gone", || !is_filter_running(&word));
}

// spec: A2, L7
#[test]
fn timeouts_work_while_a_filter_never_ends() {
    let project = Project::new();
    let (filter, word) = unique_filter(&project, "repeat(empty)");
    let agent = format!("echo '{CLAIM}'\nexec sleep 3600");
    let limits = ["--timeout", "1s", "--max-iterations", "1", "--max-retries", "0"];
    let call = project.run_shell(&agent).args(["--response-filter", &filter]).args(limits);
    let answer = call.output();
    assert_eq!(answer.events_named("iteration.ended")[0]["status"], "timed_out", "{}", answer.stdout);
    wait_until("the filter is gone", || !is_filter_running(&word));
}

// spec: A2, S4
#[test]
fn a_filter_that_crashes_is_dropped_with_the_reason_and_the_log_stays_complete() {
    for (filter, why) in [
        ("def f: f; f", "it took longer than 5 s for one line"),
        ("reduce range(60) as $i (\"x\"; . + .)", "it needs more than 512 MB of memory"),
        ("\"x\" * 1000000000", "it needs more than 512 MB of memory"),
        ("def f: [f]; f", "its recursion is too deep"),
    ] {
        let project = Project::new();
        let (only_then, _) = unique_filter(&project, &format!("if .bomb then {filter} else .say end"));
        let agent = format!(
            "echo '{CLAIM}'\necho '{{\"bomb\":1}}'\nhead -c 3000000 /dev/zero | tr '\\0' 'x' | fold -w 99\necho\necho '{CLAIM}'"
        );
        let call = project.run_shell(&agent).args(["--response-filter", &only_then]);
        let answer = call.args(["--max-iterations", "1"]).output().expect(3);
        let warned = warnings(&answer);
        assert!(warned.iter().any(|text| text.contains("was stopped") && text.contains(why)), "{warned:?}");
        let claim = &answer.events_named("claim")[0]["claim"];
        assert_eq!(claim["claimed"], false);
        assert_eq!(claim["why"], "the agent's last message could not be read");
        let log = project.log("iteration-001.ndjson");
        assert!(log.len() > 3_000_000 && log.ends_with(format!("{CLAIM}\n").as_bytes()), "{}", log.len());
    }
}

// spec: A2
#[test]
fn a_filter_that_fails_on_lines_warns_once_and_counts_them() {
    let project = Project::new();
    let agent = format!("echo '{{\"say\":[1]}}'\necho '{{\"say\":[2]}}'\necho no json\necho '{CLAIM}'");
    let call =
        project.run_shell(&agent).args(["--response-filter", ".say | ltrimstr(\"x\") | ascii_downcase | ascii_upcase"]);
    let answer = call.output();
    assert_eq!(warnings(&answer).len(), 2, "{}", answer.stdout);
    assert!(warnings(&answer)[0].starts_with("the response filter failed on a line: "), "{}", answer.stdout);
    assert_eq!(warnings(&answer)[1], "the response filter failed on 2 lines");
}

// spec: A2
#[test]
fn many_lines_pass_a_filter_complete_and_in_order() {
    let project = Project::new();
    let agent = format!("seq -f '{{\"say\":\"%.0f\"}}' 1 50000\necho '{CLAIM}'");
    let answer = project.run_shell(&agent).args(["--response-filter", ".say"]).output().expect(0);
    assert_eq!(warnings(&answer), [""; 0]);
    assert_eq!(answer.events_named("iteration.ended").len(), 1);
}

// spec: A2, A4
#[test]
fn a_display_filter_never_harms_the_run() {
    for filter in ["def f: f; f", "[range(1e12)]", "def f: [f]; f", ".say.more"] {
        let project = Project::new();
        let (filter, word) = unique_filter(&project, filter);
        let agent = project.shell(&format!("echo '{CLAIM}'\nsleep 0.1\necho 'All is in. <promise>COMPLETE</promise>'"));
        let call = project.ralph(["run", "work", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"]);
        let answer = call.args(["--display-filter", &filter]).output().expect(0);
        assert!(answer.stderr.contains("the display filter "), "{filter}: {}", answer.stderr);
        wait_until("the filter is gone", || !is_filter_running(&word));
    }
}

// spec: A2
#[test]
fn a_display_filter_shows_its_output() {
    let project = Project::new();
    let agent =
        project.shell("echo '{\"say\":\"shown\",\"not\":\"hidden\"}'\nsleep 0.1\necho '<promise>COMPLETE</promise>'");
    let call = project.ralph(["run", "work", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"]);
    let answer = call.args(["--display-filter", ".say // empty"]).output().expect(0);
    assert!(answer.stderr.contains("\n  shown\n") && !answer.stderr.contains("hidden"), "{}", answer.stderr);
}

// spec: A2, X3
#[test]
fn a_filter_that_nests_too_deeply_is_refused() {
    let project = Project::new();
    let deep = format!("{}.{}", "(".repeat(50_000), ")".repeat(50_000));
    let answer = project.run_shell("echo hi").args(["--response-filter", &deep]).output();
    assert_eq!(answer.code(), 64, "{}", answer.stderr);
    assert!(answer.stderr.contains("is nested too deeply"), "{}", answer.stderr);
}
