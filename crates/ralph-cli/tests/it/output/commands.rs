//! Commands that read: `runs`, `show`, `events`, help, completions and the demo.
use serde_json::Value;

use crate::harness::{Project, Running};
use crate::terminal::Terminal;

fn project_with_a_run() -> (Project, Value) {
    let project = Project::new();
    let call = project.run(&["complete-on", "2"]).args(["--check", "true"]);
    let finished = call.output().expect(0).finished();
    (project, finished)
}

// spec: U1
#[test]
fn the_last_event_of_a_run_has_every_field_that_scripts_need() {
    let (_project, finished) = project_with_a_run();
    for key in ["run", "outcome", "reason", "iterations", "exit_code", "cost_usd", "input_tokens", "output_tokens"] {
        assert!(finished.get(key).is_some(), "{key} is missing in {finished}");
    }
    assert_eq!((&finished["outcome"], &finished["exit_code"]), (&"completed".into(), &0.into()));
    assert_eq!(finished["cost_usd"], Value::Null, "an unknown cost is not 0");
}

// spec: U1, D4
#[test]
fn runs_are_listed_with_their_id_and_status() {
    let (project, finished) = project_with_a_run();
    project.run(&["work"]).args(["--max-iterations", "1"]).output().expect(3);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    let statuses: Vec<&Value> = runs.as_array().unwrap().iter().map(|run| &run["status"]).collect();
    assert_eq!(statuses, ["exhausted", "completed"], "newest first");
    assert_eq!(runs[1]["id"], finished["run"]);
    let text = project.ralph(["runs"]).output().expect(0).stdout;
    assert_eq!(text.lines().count(), 3, "a heading and two runs");
    assert!(!text.contains('\u{1b}'), "no colours without a terminal");
}

// spec: U1
#[test]
fn a_project_without_runs_says_so() {
    let project = Project::new();
    let answer = project.ralph(["runs"]).output().expect(0);
    assert!(answer.stdout.is_empty() && answer.stderr.contains("no runs yet"));
    assert_eq!(project.ralph(["runs", "--json"]).output().expect(0).stdout, "[]\n");
    project.ralph(["show"]).output().expect(1);
}

// spec: U1, S11, D4
#[test]
fn show_prints_each_iteration_with_claim_and_verdict() {
    let (project, finished) = project_with_a_run();
    let id = finished["run"].as_str().unwrap();
    let show = project.ralph(["show", id, "--json"]).output().expect(0).json();
    assert_eq!(show["id"], finished["run"]);
    assert_eq!((&show["kind"], &show["outcome"]), (&"run".into(), &"completed".into()));
    let iterations = show["iterations"].as_array().unwrap();
    assert_eq!(iterations.len(), 2);
    for (index, iteration) in iterations.iter().enumerate() {
        assert_eq!(iteration["number"], index + 1);
        assert_eq!((&iteration["status"], &iteration["attempts"]), (&"finished".into(), &1.into()));
        assert!(iteration["duration_ms"].is_u64());
        assert!(iteration.get("cost_usd").is_some());
    }
    assert_eq!((&iterations[0]["claim"], &iterations[0]["verdict"]), (&false.into(), &Value::Null));
    assert_eq!((&iterations[1]["claim"], &iterations[1]["verdict"]), (&true.into(), &"accepted".into()));
    let text = project.ralph(["show", &id[id.len() - 8..]]).output().expect(0).stdout;
    assert!(
        text.contains("completed") && text.contains("accepted  `true` (external): External verification passed"),
        "{text}"
    );
}

// spec: U1
#[test]
fn an_unknown_run_is_a_usage_error() {
    let (project, _) = project_with_a_run();
    let stderr = project.ralph(["show", "zzzz"]).output().expect(64).stderr;
    assert!(stderr.contains("there is no run and no task \"zzzz\"") && stderr.contains("ralph runs"), "{stderr}");
}

// spec: D4, O1, S11
#[test]
fn events_are_the_journal_as_it_was_printed_while_it_ran() {
    let project = Project::new();
    let live = project.run(&["complete-on", "2"]).args(["--check", "true"]).output().expect(0);
    let stored = project.ralph(["events"]).output().expect(0);
    assert_eq!(stored.stdout, live.stdout);
    let numbers: Vec<i64> = stored.events().iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=i64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    let claims: Vec<_> = stored.events_named("claim").iter().map(|event| event["claim"]["claimed"].clone()).collect();
    assert_eq!(claims, [false, true]);
    assert!(stored.events().iter().all(|event| event["at"].as_str().unwrap().ends_with('Z')));
}

// spec: O1
#[test]
fn events_can_be_followed_until_the_run_ends() {
    let project = Project::new();
    let go = project.outside("go");
    let running = project.run(&["wait-file", go.to_str().unwrap()]).start();
    project.wait_for("starts");
    let follower = project.ralph(["events", "--follow"]).start();
    std::fs::write(&go, "").unwrap();
    let live = running.wait().expect(0);
    let followed = follower.wait().expect(0);
    assert_eq!(followed.stdout, live.stdout);
}

// spec: D1
#[test]
fn the_store_needs_no_setup_and_is_ignored_by_git() {
    let (project, _) = project_with_a_run();
    assert!(project.state().join("ralph.db").is_file());
    let git = std::process::Command::new("git").args(["status", "--porcelain"]).current_dir(project.root()).output();
    assert_eq!(String::from_utf8_lossy(&git.unwrap().stdout), "");
}

// spec: D1, L14
#[test]
fn many_runs_at_once_share_one_store() {
    let project = Project::new();
    let running: Vec<_> =
        (0..8).map(|_| project.run(&["work"]).args(["--max-iterations", "5", "--parallel"]).start()).collect();
    let answers: Vec<_> = running.into_iter().map(Running::wait_without_invariants).collect();
    for answer in &answers {
        assert_eq!(answer.code(), 3, "{}", answer.stderr);
    }
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert!(runs.as_array().unwrap().iter().all(|run| run["iterations"] == 5));
    assert_eq!(project.starts().len(), 40);
}

// spec: U2, L12
#[test]
fn a_demo_that_is_interrupted_says_that_nothing_was_proven() {
    let project = Project::new();
    let mut terminal = Terminal::start(project.ralph(["demo"]).env("TERM", "xterm").command());
    terminal.wait_for("iteration 1/5");
    terminal.press("\x03");
    assert_eq!(terminal.wait().code(), Some(130));
    let shown = terminal.shown();
    assert!(shown.contains("nothing: the agent was stopped before it had done the work"), "{shown}");
    assert!(!shown.contains("first version"), "{shown}");
}

// spec: U2, A9
#[test]
fn the_demo_rejects_the_false_claim_and_verifies_the_work() {
    let project = Project::new();
    let answer = project.ralph(["demo"]).output().expect(0);
    let story = format!("{}{}", answer.stderr, answer.stdout);
    for line in [
        "baseline  `sh test.sh` fails before the work: Command exited with 1, expected 0",
        "sealed    test.sh",
        "rejected  `sh test.sh`: Command exited with 1, expected 0",
        "FAILED  Hello, World!: expected hello-world, got Hello,-World!",
        "accepted  1 check passed",
        "claim 1  rejected",
        "claim 2  accepted",
        "slugify: lower-case, and strip punctuation",
    ] {
        assert!(story.contains(line), "{line:?} is missing in\n{story}");
    }
}

// spec: U1
#[test]
fn every_command_has_help_with_its_options() {
    let project = Project::new();
    for command in [
        "run",
        "resume",
        "demo",
        "attach",
        "status",
        "cancel",
        "pause",
        "retry",
        "guide",
        "limit",
        "runs",
        "show",
        "verify",
        "events",
        "export",
        "import",
        "backup",
        "gc",
        "agents",
        "detect",
        "doctor",
        "completions",
        "man",
    ] {
        let help = project.ralph([command, "--help"]).output().expect(0).stdout;
        assert!(help.contains("Usage: ralph"), "{help}");
    }
    insta::assert_snapshot!(project.ralph(["--help"]).output().expect(0).stdout);
    insta::assert_snapshot!(project.ralph(["run", "--help"]).output().expect(0).stdout);
}

// spec: U1
#[test]
fn completions_and_man_page_are_built_in() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(project.ralph(["completions", shell]).output().expect(0).stdout.contains("ralph"));
    }
    assert!(project.ralph(["man"]).output().expect(0).stdout.contains(".TH ralph"));
    assert!(project.ralph(["man", "run"]).output().expect(0).stdout.contains("max\\-iterations"));
    let version = project.ralph(["--version"]).output().expect(0).stdout;
    assert_eq!(version, format!("ralph {}\n", env!("CARGO_PKG_VERSION")));
}

/// Returns the completions of bash for this command line, whose last word is incomplete.
fn offered(project: &Project, words: &[&str]) -> Vec<String> {
    let script = project.outside("ralph.bash");
    std::fs::write(&script, project.ralph(["completions", "bash"]).output().expect(0).stdout).unwrap();
    let [.., before, begun] = words else { panic!("two words at least: {words:?}") };
    let complete = format!(
        "source {}; COMP_WORDS=({}); COMP_CWORD={}; _ralph ralph '{begun}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len() - 1
    );
    let shell = std::process::Command::new("bash").args(["--norc", "-c", &complete]).output();
    let shell = shell.unwrap_or_else(|error| panic!("this test needs bash: {error}"));
    String::from_utf8(shell.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

// spec: U1
#[test]
fn shell_completion_offers_valid_values() {
    let project = Project::new();
    assert_eq!(offered(&project, &["ralph", "run", "x", "--agent", "co"]), ["codex", "copilot", "codex-acp"]);
    assert!(offered(&project, &["ralph", "build", "--output-format", ""]).contains(&"opencode".to_owned()));
    assert_eq!(offered(&project, &["ralph", "detect", "--format", "te"]), ["text"]);
    assert_eq!(offered(&project, &["ralph", "run", "x", "--scope", ""]), ["final", "iteration"]);
    assert_eq!(offered(&project, &["ralph", "plan", "--permission", ""]), ["ask", "edits", "work", "full"]);
    assert_eq!(offered(&project, &["ralph", "agents", "parse", "go"]), ["goose"]);
    let commands = offered(&project, &["ralph", ""]);
    assert!(commands.contains(&"resume".to_owned()), "{commands:?}");
    assert!(!commands.contains(&"demo-agent".to_owned()), "what is hidden is not offered: {commands:?}");
    for shell in ["zsh", "fish"] {
        let script = project.ralph(["completions", shell]).output().expect(0).stdout;
        assert!(script.contains("opencode"), "{shell}");
    }
}

// spec: D4
#[test]
fn an_exported_run_is_one_file_and_imports_unchanged() {
    let (project, finished) = project_with_a_run();
    let file = project.outside("run.jsonl");
    std::fs::write(&file, project.ralph(["export"]).output().expect(0).stdout).unwrap();
    let elsewhere = Project::new();
    elsewhere.ralph(["import"]).args([&file]).output().expect(0);
    let id = finished["run"].as_str().unwrap();
    for command in [vec!["show", id, "--json"], vec!["events", id], vec!["runs", "--json"], vec!["export", id]] {
        let here = project.ralph(&command).output().expect(0).stdout;
        let there = elsewhere.ralph(&command).output().expect(0).stdout;
        let state = |project: &Project| project.state().display().to_string();
        assert_eq!(there.replace(&state(&elsewhere), &state(&project)), here, "{command:?}");
    }
    elsewhere.ralph(["import"]).args([&file]).output().expect(1);
}

// spec: D4
#[test]
fn a_broken_file_is_refused_by_line_and_changes_nothing() {
    let (project, _) = project_with_a_run();
    let whole = project.ralph(["export"]).output().expect(0).stdout;
    let broken = whole.replacen("\"event\":\"attempt.ended\"", "\"event\":\"no.such.event\"", 1);
    let file = project.outside("run.jsonl");
    std::fs::write(&file, broken).unwrap();
    let elsewhere = Project::new();
    let stderr = elsewhere.ralph(["import"]).args([&file]).output().expect(1).stderr;
    assert!(stderr.contains("run.jsonl, line 7: "), "{stderr}");
    assert_eq!(elsewhere.ralph(["runs", "--json"]).output().expect(0).stdout, "[]\n");
}

// spec: D4
#[test]
fn a_forged_or_truncated_file_is_refused() {
    let (project, _) = project_with_a_run();
    let whole = project.ralph(["export"]).output().expect(0).stdout;
    let lines: Vec<&str> = whole.lines().collect();
    let elsewhere = Project::new();
    let refused = |text: String| {
        let file = elsewhere.outside("run.jsonl");
        std::fs::write(&file, text).unwrap();
        elsewhere.ralph(["import"]).args([&file]).output().expect(1).stderr
    };
    assert!(refused(lines[..6].join("\n")).contains("the file was cut"));
    let forged = [lines[0], lines[lines.len() - 1]].join("\n");
    let count = format!("\"facts\":{}", lines.len() - 1);
    assert!(refused(forged.replace(&count, "\"facts\":1")).contains("not numbered from 1"));
    let rejected = whole.replace("\"verdict\":\"accepted\"", "\"verdict\":\"rejected\"");
    assert!(refused(rejected).contains("did not accept the claim"));
    let id = serde_json::from_str::<Value>(lines[0]).unwrap()["id"].as_str().unwrap().to_owned();
    assert!(refused(whole.replace(&id, "../../x")).contains("not a UUID"));
    assert_eq!(elsewhere.ralph(["runs", "--json"]).output().expect(0).stdout, "[]\n");
}

// spec: U1
#[test]
fn the_paths_that_show_prints_are_relative_to_the_current_folder() {
    let project = Project::new();
    project.run(&["complete"]).args(["--check", "true"]).output().expect(0);
    let below = project.root().join("below");
    std::fs::create_dir(&below).unwrap();
    for folder in [project.root(), below] {
        let shown = project.ralph(["show", "--json"]).folder(&folder).output().expect(0).json();
        let log = folder.join(shown["iterations"][0]["checks"][0]["log"].as_str().unwrap());
        assert!(log.is_file(), "{}", log.display());
        let text = project.ralph(["show"]).folder(&folder).output().expect(0).stdout;
        let logs = text.lines().find_map(|line| line.strip_prefix("logs     ")).unwrap();
        assert!(folder.join(logs).is_dir(), "{logs}");
    }
}

// spec: U1, V7
#[test]
fn a_check_that_cannot_be_evaluated_has_the_same_label_live_and_in_show() {
    let project = Project::new();
    let live = project.run_on("go", &["complete"]).args(["--no-baseline", "--check", "no-such-program"]).output();
    assert!(live.stderr.contains("unproven  "), "{}", live.stderr);
    assert!(project.ralph(["show"]).output().stdout.contains("  unproven  `no-such-program`"));
}

/// Returns what bash offers with the whole completion, whose script calls `ralph`.
fn offered_with_ids(project: &Project, words: &[&str], folder: &std::path::Path) -> std::process::Output {
    let script = project.outside("ralph.bash");
    std::fs::write(&script, project.ralph(["completions", "bash"]).output().expect(0).stdout).unwrap();
    let [.., before, begun] = words else { panic!("two words at least: {words:?}") };
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let complete = format!(
        "ralph() {{ {} \"$@\"; }}; source {}; COMP_WORDS=({}); COMP_CWORD={}; \
         _ralph_with_ids ralph '{begun}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
        env!("CARGO_BIN_EXE_ralph"),
        script.display(),
        quoted.join(" "),
        words.len() - 1
    );
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", &complete]).current_dir(folder).env("HOME", project.home());
    bash.output().unwrap_or_else(|error| panic!("this test needs bash: {error}"))
}

// spec: U11
// finding: N56
#[test]
fn shell_completion_knows_the_ids_of_runs_and_tasks() {
    let (project, finished) = project_with_a_run();
    project.ralph(["task", "create", "LOGIN-1", "auth", "Add a login", "--no-criteria"]).output().expect(0);
    let run = finished["run"].as_str().unwrap();
    let short = &run[run.len() - 8..];
    let offered = |words: &[&str]| {
        let output = offered_with_ids(&project, words, &project.root());
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(offered(&["ralph", "show", ""]), format!("LOGIN-1 {short}"));
    assert_eq!(offered(&["ralph", "log", "LO"]), "LOGIN-1");
    assert_eq!(offered(&["ralph", "land", ""]), "LOGIN-1");
    assert_eq!(offered(&["ralph", "task", "show", ""]), "LOGIN-1");
    assert_eq!(offered(&["ralph", "run", "x", "--agent", "cod"]), "codex codex-acp", "the rest is offered as before");
    assert!(offered(&["ralph", "run", "x", "--check-template", "pytest"]).contains("pytest-coverage"));
}

// spec: U11
#[test]
fn shell_completion_is_silent_outside_of_a_project() {
    let (project, _) = project_with_a_run();
    let outside = project.outside("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    let output = offered_with_ids(&project, &["ralph", "land", "x"], &outside);
    assert_eq!((output.stderr, output.stdout), (Vec::new(), b"\n".to_vec()));
}
