//! `ralph attach`: follows a run from another process.
use rustix::process::Signal;

use crate::background_run::detach;
use crate::harness::Project;
use crate::process_table::is_alive;
use crate::terminal::Terminal;

/// Speaks, waits for the file `go` outside of the project, and claims.
const WAITING_AGENT: &str =
    "text first words\ntouch ../ready\nwait ../go\ntext later words\ntext Done.\\n\\n{promise}\n";

fn release_agent(project: &Project) {
    std::fs::write(project.outside("go"), "").unwrap();
}

// spec: L15
#[test]
fn attach_shows_what_the_agent_says_and_returns_the_exit_code_of_the_run() {
    let project = Project::new();
    let run = detach(&project, &["script", &project.script(WAITING_AGENT)], &["--check", "true"]);
    let attached = project.ralph(["attach"]).start();
    attached.wait_for_stderr("  first words\n");
    release_agent(&project);
    let answer = attached.wait_without_invariants().expect(0);
    for words in ["── iteration 1/10 ──", "  later words\n", "claimed   ", "accepted  1 check passed"] {
        assert!(answer.stderr.contains(words), "{words:?} is missing in\n{}", answer.stderr);
    }
    assert!(answer.stdout.contains("completed after 1 iteration in "), "{}", answer.stdout);
    assert!(!answer.stdout.contains("unverified"), "{}", answer.stdout);
    assert_eq!(run.wait_and_show(&project)["outcome"], "completed");
}

// spec: L15
#[test]
fn attach_shows_each_message_once_and_in_order() {
    let project = Project::new();
    let script = "text one\n---\ntext two\ntouch ../ready\nwait ../go\ntext three\n---\ntext four\n";
    let script = project.script(script);
    let run = detach(&project, &["script", &script], &["--max-iterations", "3"]);
    project.wait_for("ready");
    let attached = project.ralph(["attach", &run.run]).start();
    attached.wait_for_stderr("  two\n");
    release_agent(&project);
    let shown = attached.wait_without_invariants().expect(3).stderr;
    let printed = |line: &&str| ["  two", "  three", "  four"].contains(line) || line.starts_with("── iter");
    let order: Vec<&str> = shown.lines().filter(printed).map(|line| line.trim_end_matches([' ', '─'])).collect();
    let expected = ["── iteration 1/3", "── iteration 2/3", "  two", "  three", "── iteration 3/3", "  four"];
    assert_eq!(order, expected, "{shown}");
    run.wait_and_show(&project);
}

// spec: L15
#[test]
fn a_long_history_is_shortened() {
    let project = Project::new();
    project.run(&["work"]).args(["--max-iterations", "6"]).output().expect(3);
    let run = project.ralph(["runs", "--json"]).output().json()[0]["id"].as_str().unwrap().to_owned();
    let answer = project.ralph(["attach", &run]).output().expect(3);
    assert!(answer.stderr.contains("3 earlier iterations not shown; see `ralph show "), "{}", answer.stderr);
    assert!(!answer.stderr.contains("iteration 3/6") && answer.stderr.contains("iteration 4/6"), "{}", answer.stderr);
    assert!(answer.stdout.contains("exhausted after 6 iterations"), "{}", answer.stdout);
    assert!(!answer.stderr.contains("One story done"), "what the agent said then is in its log");
}

// spec: L15, O1, U1
#[test]
fn attach_prints_the_whole_journal_as_json_and_ends_with_the_run() {
    let project = Project::new();
    let run =
        detach(&project, &["script", &project.script(WAITING_AGENT)], &["--check", "false", "--max-iterations", "1"]);
    project.wait_for("ready");
    let attached = project.ralph(["attach", "--json"]).start();
    attached.wait_for_event("attempt.started");
    release_agent(&project);
    let answer = attached.wait_without_invariants().expect(3);
    assert_eq!(answer.finished()["exit_code"], 3);
    run.wait_for_end();
    assert_eq!(project.ralph(["events"]).output().expect(0).stdout, answer.stdout);
}

// spec: L15
#[test]
fn ctrl_c_detaches_and_the_run_continues() {
    let project = Project::new();
    let run = detach(&project, &["script", &project.script(WAITING_AGENT)], &[]);
    project.wait_for("ready");
    let mut terminal = Terminal::start(project.ralph(["attach"]).command());
    terminal.wait_for("first words");
    terminal.press("\u{3}");
    assert_eq!(terminal.wait().code(), Some(130));
    let shown = terminal.shown();
    assert!(shown.contains("continues; `ralph attach "), "{shown}");
    assert!(is_alive(run.pid));
    release_agent(&project);
    assert_eq!(run.wait_and_show(&project)["outcome"], "completed");
}

// spec: L15, L13
#[test]
fn a_run_whose_ralph_was_killed_is_shown_as_dead() {
    let project = Project::new();
    let run = detach(&project, &["script", &project.script(WAITING_AGENT)], &[]);
    project.wait_for("ready");
    let attached = project.ralph(["attach"]).start();
    attached.wait_for_stderr("first words");
    run.signal(Signal::KILL);
    let answer = attached.wait_without_invariants().expect(3);
    assert!(answer.stderr.contains("no ralph process drives it; `ralph resume "), "{}", answer.stderr);
    project.ralph(["attach"]).output().expect(1);
    project.ralph(["attach", &run.run]).output().expect(3);
}

// spec: L15
#[test]
fn attach_without_an_active_run_is_an_error() {
    let project = Project::new();
    let nothing = project.ralph(["attach"]).output().expect(1).stderr;
    assert!(nothing.contains("no run is active in this project"), "{nothing}");
    project.run(&["complete"]).output().expect(0);
    let nothing = project.ralph(["attach"]).output().expect(1).stderr;
    assert!(nothing.contains("hint: `ralph attach RUN` shows the end of an earlier one"), "{nothing}");
}

// spec: L15, O1
#[test]
fn attach_exits_when_its_reader_has_gone() {
    let project = Project::new();
    let script = "text one\nwait ../go\n---\ntouch ../ready\nhang\n";
    let run = detach(&project, &["script", &project.script(script)], &[]);
    project.wait_for("starts");
    let follower = project.ralph(["events", "--follow"]).read_first_line_only().start();
    follower.wait_for_closed_stream();
    release_agent(&project);
    project.wait_for("ready");
    follower.wait_without_invariants().expect(0);
    assert!(is_alive(run.pid));
    run.signal(Signal::TERM);
    run.wait_and_show(&project);
}
