//! The report in the log of a CI system, and the state of now.
use std::fs;

use rustix::process::Signal;

use crate::harness::Project;
use crate::terminal::Terminal;

/// A run whose first claim fails its check, and whose second one passes.
fn run_twice<'a>(project: &'a Project, steps: &str) -> crate::harness::Call<'a> {
    let script = project.script(steps);
    let call = project.run_on("do the work", &["script", &script]).args(["--output-format", "claude"]);
    call.args(["--max-iterations", "2", "--check", "cat done.txt"]).env("CI", "true")
}

const STEPS: &str = "init\nsay ::add-mask::secret-of-the-agent\nsay a ##[error]b\nsay {promise}\nresult x\n---\ninit\nwrite done.txt yes\nsay {promise}\nresult x";

/// Returns the lines that GitHub takes for commands.
fn commands(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.trim_start().starts_with("::") || line.contains("##[")).collect()
}

// spec: U1
#[test]
fn in_ci_each_iteration_is_one_line_with_its_result_and_the_failing_evidence() {
    let project = Project::new();
    let answer = run_twice(&project, STEPS).output().expect(0);
    let lines: Vec<&str> = answer.stderr.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(lines.len(), 2, "{}", answer.stderr);
    assert!(lines[0].starts_with("[1/2] text  rejected  "), "{}", lines[0]);
    assert!(lines[0].contains("  $0.01  cat done.txt: "), "{}", lines[0]);
    assert!(lines[1].starts_with("[2/2] text  accepted  "), "{}", lines[1]);
    assert!(!answer.stderr.contains("secret-of-the-agent"), "the log of the agent is not shown: {}", answer.stderr);
    assert!(!answer.stderr.contains("::group::"), "{}", answer.stderr);
}

// spec: U1
#[test]
fn in_ci_the_evidence_of_a_failure_is_at_the_end_only() {
    let project = Project::new();
    let steps = "init\nsay {promise}\nresult x";
    let script = project.script(steps);
    let call = project.run_on("do the work", &["script", &script]).args(["--output-format", "claude"]);
    let check = "echo first; echo 2 failed; exit 1";
    let answer = call.args(["--max-iterations", "2", "--check", check]).env("CI", "1").output().expect(3);
    let (before, summary) = answer.stderr.split_once("\nfailed: ").unwrap();
    assert_eq!(before.lines().filter(|line| line.ends_with(": 2 failed")).count(), 2, "{before}");
    assert!(!before.lines().any(|line| line.trim() == "first"), "{before}");
    assert_eq!(summary.lines().skip(1).take(2).collect::<Vec<_>>(), ["  first", "  2 failed"], "{summary}");
}

// spec: U1
#[test]
fn in_github_actions_what_happened_is_folded_and_the_agent_cannot_give_commands() {
    let project = Project::new();
    let answer = run_twice(&project, STEPS).env("GITHUB_ACTIONS", "true").output().expect(0);
    let groups = ["::group::[1/2] text", "::endgroup::", "::group::[2/2] text", "::endgroup::"];
    assert_eq!(commands(&answer.stderr), groups, "{}", answer.stderr);
    assert!(answer.stderr.contains(": :add-mask::secret-of-the-agent"), "{}", answer.stderr);
    assert!(answer.stderr.contains("a ## [error]b"), "{}", answer.stderr);
    let (first, rest) = answer.stderr.split_once("::endgroup::").unwrap();
    assert!(first.contains("rejected"), "the verdict is in the group: {first}");
    assert!(rest.trim_start().starts_with("[1/2] text  rejected"), "{rest}");
}

// spec: U1
#[test]
fn in_github_actions_the_words_of_an_agent_in_the_summary_are_no_commands_either() {
    let project = Project::new();
    let script = project.script("init\nsay <blocked>needs ##[error]x</blocked>\nresult x");
    let call = project.run_on("do the work", &["script", &script]).args(["--output-format", "claude"]);
    let answer = call.env("GITHUB_ACTIONS", "true").output().expect(6);
    assert!(answer.stdout.contains("needs ## [error]x"), "{}", answer.stdout);
    assert_eq!(commands(&answer.stdout), Vec::<&str>::new(), "{}", answer.stdout);
}

// spec: U1
#[test]
fn in_github_actions_the_job_gets_a_summary_in_markdown() {
    let project = Project::new();
    let file = project.outside("summary");
    fs::write(&file, "# before\n").unwrap();
    let steps = "init\nsay {promise}\nresult x";
    let script = project.script(steps);
    let call = project.run_on("do the work", &["script", &script]).args(["--output-format", "claude"]);
    let call = call.args(["--max-iterations", "1", "--check", "echo '<b>|2 failed'; exit 1"]);
    call.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &file).output().expect(3);
    let summary = fs::read_to_string(&file).unwrap();
    assert!(summary.starts_with("# before\n### ralph: exhausted\n"), "{summary}");
    assert!(summary.contains("| 1/1 | text | rejected | "), "{summary}");
    assert!(summary.contains("&lt;b&gt;\\|2 failed |"), "{summary}");
    assert!(summary.contains("\n    <b>|2 failed\n"), "the output is quoted: {summary}");
}

// spec: U1
#[test]
fn with_json_ci_changes_nothing() {
    let project = Project::new();
    let answer = project.run(&["complete"]).env("GITHUB_ACTIONS", "true").output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert!(!answer.stderr.contains("[1/"), "{}", answer.stderr);
    assert!(!answer.stderr.contains("::"), "{}", answer.stderr);
}

// spec: U1
#[test]
fn a_signal_prints_the_state_of_now() {
    let project = Project::new();
    let running = project.run_on("do the work", &["hang"]).args(["--max-iterations", "4"]).start();
    project.wait_for("ready");
    running.signal(Signal::USR1);
    running.wait_for_stderr("[1/4] text  working");
    running.signal(Signal::INT);
    running.wait().expect(130);
}

// spec: U1
#[test]
fn enter_prints_the_state_of_now() {
    let project = Project::new();
    let call = project.run_on("do the work", &["hang"]).args(["--max-iterations", "4"]);
    let mut terminal = Terminal::start(call.command());
    project.wait_for("ready");
    terminal.press("\n");
    terminal.wait_for("[1/4] text  working");
    terminal.press("\u{3}");
    assert_eq!(terminal.wait().code(), Some(130));
}
