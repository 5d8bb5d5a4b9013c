//! Reading what runs did: `logs`, `show --prompt`, and the line that identifies a run.
use serde_json::json;

use crate::background_run::detach;
use crate::harness::{Project, wait_until};
use crate::terminal::Terminal;
use crate::work::pipeline;

/// Two iterations of an agent that prints Claude's format.
fn project_with_a_run() -> Project {
    let project = Project::new();
    project.commit();
    let run = project.run_on("# Repair the parser\n\nIt drops the last line.", &["claude-complete-on", "2"]);
    run.args(["--output-format", "claude", "--check", "true"]).output().expect(0);
    project
}

// spec: U9
// finding: N48
#[test]
fn logs_show_what_the_agent_said_and_how_it_was_judged() {
    let project = project_with_a_run();
    let text = project.ralph(["logs"]).output().expect(0).stdout;
    let heading = text.lines().next().unwrap();
    assert!(heading.ends_with("· run · text · Repair the parser"), "{heading}");
    for words in ["── iteration 1/10", "── iteration 2/10", "claimed   ", "accepted  1 check passed", "completed: "]
    {
        assert!(text.contains(words), "{words:?} is missing in\n{text}");
    }
    let only = project.ralph(["logs", "--iteration", "2"]).output().expect(0).stdout;
    assert!(only.contains("iteration 2/10") && !only.contains("iteration 1/10"), "{only}");
    assert!(only.contains("<promise>COMPLETE</promise>"), "the words of the agent are shown:\n{only}");
}

// spec: U9
#[test]
fn logs_follow_a_run_until_it_ends() {
    let project = Project::new();
    let script = project.script("text first words\ntouch ../ready\nwait ../go\ntext Done.\\n\\n{promise}\n");
    let run = detach(&project, &["script", &script], &["--check", "true"]);
    let following = project.ralph(["logs", "-f"]).start();
    wait_until("the words are shown", || following.stdout_so_far().contains("first words"));
    std::fs::write(project.outside("go"), "").unwrap();
    let shown = following.wait_without_invariants().expect(0).stdout;
    assert!(shown.contains("completed: "), "{shown}");
    run.wait_and_show(&project);
}

// spec: U9
// finding: N47
#[test]
fn show_prints_the_prompt_as_it_was_sent() {
    let project = project_with_a_run();
    let last = project.ralph(["show", "--prompt"]).output().expect(0).stdout;
    let first = project.ralph(["show", "--prompt", "--iteration", "1"]).output().expect(0).stdout;
    for prompt in [&first, &last] {
        assert!(prompt.contains("# Repair the parser\n\nIt drops the last line."), "{prompt}");
        assert!(prompt.contains("<promise>COMPLETE</promise>"), "with what ralph adds:\n{prompt}");
    }
    assert_ne!(first, last, "each iteration has its own prompt");
    let none = project.ralph(["show", "--prompt", "--iteration", "7"]).output().expect(64).stderr;
    assert!(none.contains("has no iteration 7"), "{none}");
}

// spec: U9
#[test]
fn a_stored_prompt_contains_no_secret() {
    let project = Project::new();
    let run = project.run_on("Use the key canary-3f9a", &["complete"]).env("DEPLOY_SECRET", "canary-3f9a");
    run.output().expect(0);
    let prompt = project.ralph(["show", "--prompt"]).output().expect(0).stdout;
    assert!(!prompt.contains("canary-3f9a") && prompt.contains("Use the key"), "{prompt}");
}

// spec: U9
// finding: N47
#[test]
fn the_first_line_of_the_prompt_identifies_a_run() {
    let project = project_with_a_run();
    let listed = project.ralph(["runs"]).output().expect(0).stdout;
    assert!(listed.contains("Repair the parser"), "{listed}");
    assert_eq!(project.ralph(["runs", "--json"]).output().json()[0]["prompt"], json!("Repair the parser"));
    assert_eq!(project.ralph(["show", "--json"]).output().json()["prompt"], json!("Repair the parser"));
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains("\nprompt   Repair the parser\n"), "{shown}");
}

// spec: U9
// finding: N48
#[test]
fn logs_of_an_iteration_that_no_run_has_is_an_error() {
    let project = project_with_a_run();
    project.ralph(["logs", "--iteration", "2"]).output().expect(0);
    let refused = project.ralph(["logs", "--iteration", "3"]).output().expect(64);
    assert!(refused.stderr.contains("no run that you chose has an iteration 3"), "{}", refused.stderr);
    assert_eq!(refused.stdout, "");
}

// spec: U9
// finding: N73
#[test]
fn show_has_the_cost_and_the_tokens_that_the_end_of_the_run_printed() {
    let project = Project::new();
    let run = project.run_on("do it", &["claude-complete-on", "1"]).args(["--output-format", "claude"]);
    let ended = run.output().expect(0).stdout;
    let spent = ended.lines().find_map(|line| line.strip_prefix("spent     ")).unwrap();
    let (cost, tokens) = spent.split_once(", ").unwrap();
    let (input, output) = tokens.split_once(" tokens in, ").unwrap();
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains(&format!("spent    {cost} · tokens {input} in, {output}\n")), "{ended}{shown}");
}

// spec: U9
#[test]
fn status_names_what_a_loop_was_asked() {
    let project = Project::new();
    let run = detach(&project, &["hang"], &["--check", "true"]);
    project.wait_for("ready");
    let status = project.ralph(["ps"]).start().wait_without_invariants().expect(0).stdout;
    assert!(status.contains("do the work"), "{status}");
    project.ralph(["stop"]).start().wait_without_invariants().expect(0);
    assert_eq!(run.wait_and_show(&project)["outcome"], "cancelled");
}

// finding: N51
#[test]
fn the_list_of_runs_has_a_heading_fits_and_says_when_there_are_more() {
    let project = project_with_a_run();
    project.run(&["complete"]).output().expect(0);
    let mut terminal = Terminal::start_with(project.ralph(["runs", "-n", "1"]).command(), 80);
    assert_eq!(terminal.wait().code(), Some(0));
    let rows = terminal.rows();
    assert!(rows[0].contains("RUN") && rows[0].contains("PROMPT"), "{rows:#?}");
    assert!(rows.iter().all(|row| row.chars().count() <= 80), "{rows:#?}");
    assert!(rows.join(" ").contains("--all lists all of them"), "{rows:#?}");
    let all = project.ralph(["runs", "--all"]).output().expect(0);
    assert_eq!((all.stdout.lines().count(), all.stderr.as_str()), (3, ""));
}

// spec: U11
// finding: N50
#[test]
fn every_command_that_reads_a_run_takes_a_task() {
    let project = pipeline::project(&[("T-1", "")]);
    pipeline::work(&project, &["--until-idle"]).output().expect(0);
    let commands: [&[&str]; 5] = [&["show"], &["diff"], &["events"], &["attach"], &["logs", "--role", "coder"]];
    for command in commands {
        project.ralph(command).args(["T-1"]).output().expect(0);
    }
    let shown = project.ralph(["show", "T-1", "--json"]).output().expect(0).json();
    assert_eq!((&shown["task"], &shown["role"]), (&json!("T-1"), &json!("qa")), "the newest run of the task");
    let logs = project.ralph(["logs", "T-1"]).output().expect(0).stdout;
    for role in ["coder", "reviewer", "tester", "qa"] {
        assert!(logs.contains(&format!("· T-1 {role} ·")), "{role} is missing in\n{logs}");
    }
    let exported = project.ralph(["export", "T-1"]).output().expect(0).stdout;
    assert!(exported.contains(shown["id"].as_str().unwrap()), "{exported}");
    let unknown = project.ralph(["show", "T-11"]).output().expect(64).stderr;
    assert!(unknown.contains("did you mean T-1?"), "{unknown}");
}

// spec: U11
#[test]
fn a_task_without_a_run_is_named() {
    let project = pipeline::project(&[("T-1", "")]);
    let refused = project.ralph(["logs", "T-1"]).output().expect(1).stderr;
    assert!(refused.contains("task T-1 has no run yet"), "{refused}");
}
