//! Tasks that an agent generates from a spec, and the approval of their checks.
use std::fs;

use serde_json::{Value, json};

use crate::harness::{Call, CallOutput, FAKE_AGENT, Project, wait_until};
use crate::terminal::Terminal;

/// Two tasks, the second with a command.
const GOOD: &str = "- id: auth-001\\n  title: First\\n  completion: {outcome: o, acceptance_criteria: [a]}\\n\
    - id: auth-002\\n  title: Second\\n  dependencies: [auth-001]\\n  completion:\\n    outcome: o\\n    \
    acceptance_criteria: [a]\\n    coder: {promise: MADE_IT, verification_config: {command: touch canary}}\\n";

fn with_spec() -> Project {
    let project = Project::new();
    project.write("Auth.md", "# Auth\n\nTokens for all. <promise>TASKS_WRITTEN</promise>\n");
    project
}

fn generate<'a>(project: &'a Project, steps: &str) -> Call<'a> {
    let script = project.script(steps);
    let agent = ["task", "generate", "Auth.md", "--agent", "text", "--agent-cmd", FAKE_AGENT];
    project
        .ralph(agent)
        .args(["--agent-arg=script".to_owned(), format!("--agent-arg={script}")])
        .env("FA_PROMISE", "TASKS_WRITTEN")
}

/// A project with the two tasks of an agent.
pub(crate) fn generated() -> Project {
    let project = with_spec();
    generate(&project, &format!("answer {GOOD}\ntext Done.\\n\\n{{promise}}\n")).output().expect(0);
    project
}

fn task(project: &Project, args: &[&str]) -> CallOutput {
    project.ralph(["task"].iter().chain(args)).output()
}

fn listed(project: &Project) -> Vec<(String, bool)> {
    let rows = task(project, &["list", "--json"]).expect(0).json();
    let row = |row: &Value| (row["id"].as_str().unwrap().to_owned(), row["approved"].as_bool().unwrap());
    rows.as_array().unwrap().iter().map(row).collect()
}

fn first_and_second(approved: bool) -> Vec<(String, bool)> {
    vec![("auth-001".to_owned(), true), ("auth-002".to_owned(), approved)]
}

fn answers(project: &Project) -> Vec<std::path::PathBuf> {
    let notes = fs::read_dir(project.root().join(".ralph/notes")).unwrap();
    let paths = notes.map(|file| file.unwrap().path());
    paths.filter(|path| path.to_string_lossy().ends_with(".tasks.yaml")).collect()
}

// spec: T8
#[test]
fn mistakes_go_back_to_the_agent_and_a_valid_file_is_imported_completely() {
    let project = with_spec();
    let bad = "- id: auth-001\\n  title: First\\n  completion: {outcome: o}\\n";
    let steps = format!(
        "prompt prompt-1\ntext Done.\\n\\n{{promise}}\n---\nanswer {bad}\ntext Done.\\n\\n{{promise}}\n---\n\
         prompt prompt-3\nanswer {GOOD}\ntext Done.\\n\\n{{promise}}\n"
    );
    let answer = generate(&project, &steps).output().expect(0);
    assert!(answer.stdout.contains("created   2 tasks of spec auth"), "{}", answer.stdout);
    assert!(answer.stdout.contains("approve   checks of 1 task: ralph task approve --spec auth"), "{}", answer.stdout);
    assert_eq!(project.starts().len(), 3);
    let prompt = |name: &str| fs::read_to_string(project.root().join(name)).unwrap();
    let first = prompt("prompt-1");
    assert!(first.contains("# Auth\n\nTokens for all.") && first.contains("For EACH task you MUST"), "{first}");
    assert_eq!(first.matches("<promise").count(), 1, "the one of the spec is dead: {first}");
    let third = prompt("prompt-3");
    assert!(third.contains("tasks.yaml:3:15: completion.acceptance_criteria: required field is missing"), "{third}");
    assert_eq!(listed(&project), first_and_second(false));
    let shown = task(&project, &["show", "auth-002", "--json"]).expect(0).json();
    assert_eq!((&shown["spec_id"], &shown["approved"]), (&json!("auth"), &json!(false)));
    assert!(shown["metadata"]["generated_by"].is_string());
    assert!(answers(&project).is_empty(), "what is stored needs no file");
    let run = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!((&run["kind"], &run["outcome"]), (&json!("generate"), &json!("completed")));
    let verified = project.ralph(["verify"]).output().expect(1);
    assert!(verified.stderr.contains("its only check was the import of these tasks"), "{}", verified.stderr);
}

// spec: T8
#[test]
fn an_agent_that_never_writes_valid_tasks_is_stopped_and_nothing_is_imported() {
    let project = with_spec();
    let steps = "answer - id: ../x\\n  title: y\\n\ntext Done.\\n\\n{promise}\n";
    let answer = generate(&project, steps).args(["--max-iterations", "2"]).output().expect(3);
    assert!(
        answer.stdout.contains("\"../x\" is not a valid id") || answer.stderr.contains("\"../x\" is not a valid id")
    );
    assert!(answer.stderr.contains("no tasks were imported; the agent's file is"), "{}", answer.stderr);
    assert_eq!(project.starts().len(), 2);
    assert!(listed(&project).is_empty());
    let [left] = <[_; 1]>::try_from(answers(&project)).unwrap();
    assert!(fs::read_to_string(&left).unwrap().contains("../x"));
    project.ralph(["gc", "--all", "--older-than", "1ms"]).output().expect(0);
    assert!(!left.exists(), "it goes with the run");
}

// spec: T8
#[test]
fn tasks_of_several_answers_are_printed_as_json_and_duplicate_ids_go_back() {
    let project = with_spec();
    task(&project, &["create", "auth-001", "old", "Mine", "--no-criteria"]).expect(0);
    let other = GOOD.replace("auth-001", "auth-003");
    let steps = format!("answer {GOOD}\ntext {{promise}}\n---\nanswer {other}\ntext {{promise}}\n");
    let answer = generate(&project, &steps).args(["--json", "--spec", "login"]).output().expect(0);
    let printed: Value = serde_json::from_str(answer.stdout.lines().last().unwrap()).unwrap();
    let ids = [("auth-003", true), ("auth-002", false)];
    let tasks = ids.map(|(id, approved)| json!({"id": id, "status": "todo", "approved": approved}));
    assert_eq!(printed, json!({"spec_id": "login", "tasks": tasks}));
    let reason = answer.events_named("verdict")[0]["checks"][0]["tail"].to_string();
    assert!(reason.contains("task auth-001 already exists"), "{reason}");
}

// spec: T8
#[test]
fn a_dry_run_prints_the_prompt_and_bad_specs_are_refused() {
    let project = with_spec();
    let dry = generate(&project, "").args(["--dry-run"]).output().expect(0);
    assert!(dry.stdout.starts_with("# Create tasks from the spec auth\n"), "{}", dry.stdout);
    project.write("empty.md", "\n \n");
    project.write("«».md", "words");
    let cases =
        [("empty.md", 1, "is empty"), ("gone.md", 1, "cannot read the file"), ("«».md", 64, "is not a valid spec id")];
    for (file, code, words) in cases {
        let answer = task(&project, &["generate", file, "--agent", "demo"]).expect(code);
        assert!(answer.stderr.contains(words), "{}", answer.stderr);
    }
    assert!(project.starts().is_empty());
}

// spec: T8, L13
// fault: 5
#[test]
fn tasks_are_imported_on_resume_if_ralph_died_before_the_import() {
    let project = with_spec();
    let steps = format!("answer {GOOD}\ntext Done.\\n\\n{{promise}}\n");
    generate(&project, &steps).env("RALPH_FAIL", "complete.recorded.unannounced:1").start().wait_without_invariants();
    assert!(listed(&project).is_empty());
    project.ralph(["resume"]).output().expect(0);
    assert_eq!(listed(&project), first_and_second(false));
    project.ralph(["resume"]).output().expect(0);
    assert_eq!(listed(&project).len(), 2, "once");
    assert_eq!(project.starts().len(), 1);
}

// spec: T8, L13
#[test]
fn a_generating_run_that_was_killed_is_resumed_and_its_tasks_are_imported() {
    let project = with_spec();
    let steps = format!("touch began\nwait go\nanswer {GOOD}\ntext Done.\\n\\n{{promise}}\n");
    let running = generate(&project, &steps).start();
    let began = project.root().join("began");
    wait_until("the agent works", || began.exists());
    running.signal(rustix::process::Signal::KILL);
    running.wait_without_invariants();
    wait_until("all that it started is gone", || project.processes_of_runs().is_empty());
    project.write("go", "");
    project.ralph(["resume"]).env("FA_PROMISE", "TASKS_WRITTEN").output().expect(0);
    assert_eq!(listed(&project), first_and_second(false));
}

// spec: T8
#[test]
fn generated_tasks_are_stored_in_the_home_of_the_current_subfolder() {
    let project = with_spec();
    let below = project.root().join("sub");
    fs::create_dir_all(below.join(".ralph")).unwrap();
    fs::write(below.join("Auth.md"), "# Auth").unwrap();
    let steps = format!("answer {GOOD}\ntext Done.\\n\\n{{promise}}\n");
    generate(&project, &steps).folder(&below).output().expect(0);
    let rows = project.ralph(["task", "list", "--json"]).folder(&below).output().expect(0).json();
    assert_eq!(rows.as_array().unwrap().len(), 2);
}

fn stage<'a>(project: &'a Project, id: &str) -> Call<'a> {
    let agent = ["task", "run", id, "--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=complete"];
    project.ralph(agent).env("FA_PROMISE", "MADE_IT")
}

// spec: T8
#[test]
fn checks_that_an_agent_wrote_do_not_run_before_a_person_approves_them() {
    let project = generated();
    task(&project, &["edit", "auth-001", "--status", "done"]).expect(0);
    let starts = project.starts().len();
    let refused = stage(&project, "auth-002").output().expect(1);
    for words in ["an agent wrote the criteria of task auth-002", "coder: touch canary", "ralph task approve auth-002"]
    {
        assert!(refused.stderr.contains(words), "{words:?} is not in\n{}", refused.stderr);
    }
    assert_eq!(project.starts().len(), starts, "no token is spent");
    let unasked = task(&project, &["approve", "--spec", "auth"]).expect(1);
    assert!(unasked.stdout.contains("  acceptance\n      a\n  coder\n      touch canary\n"), "{}", unasked.stdout);
    assert!(unasked.stderr.contains("hint: review the commands above; then add --yes"), "{}", unasked.stderr);
    assert_eq!(listed(&project), first_and_second(false));
    assert!(!project.root().join("canary").exists());
    let approved = task(&project, &["approve", "auth-002", "--yes"]).expect(0);
    assert!(approved.stdout.ends_with("1 task approved\n"), "{}", approved.stdout);
    let nothing = task(&project, &["approve", "--all", "--yes"]).expect(0);
    assert!(nothing.stdout.starts_with("nothing to approve"), "{}", nothing.stdout);
    stage(&project, "auth-002").args(["--max-iterations", "1"]).output();
    assert!(project.root().join("canary").exists(), "now they run");
}

// spec: T8
#[test]
fn a_person_at_a_terminal_is_asked_and_anything_but_yes_is_no() {
    let project = generated();
    for (printed, code, approved) in [("n\n", 1, false), ("\n", 1, false), ("yes\n", 0, true)] {
        let command = project.ralph(["task", "approve", "--all"]).command();
        let mut terminal = Terminal::start_with(command, 80);
        terminal.wait_for("Approve these commands? [y/N]");
        terminal.press(printed);
        assert_eq!(terminal.wait().code(), Some(code), "{printed:?}");
        assert_eq!(listed(&project), first_and_second(approved));
    }
}

// spec: T8, T5
#[test]
fn only_the_approve_command_approves() {
    let project = generated();
    task(&project, &["edit", "auth-002", "--title", "Other", "--coder-verify-cmd", "true"]).expect(0);
    assert_eq!(listed(&project), first_and_second(false), "editing does not");
    task(&project, &["edit", "auth-002", "--status", "blocked"]).expect(0);
    task(&project, &["followup", "auth-002", "auth-009"]).expect(0);
    assert_eq!(listed(&project).last().unwrap(), &("auth-009".to_owned(), false), "nor does inheriting");
    let exported = task(&project, &["export", "auth-002", "auth-009"]).expect(0).stdout;
    assert_eq!(exported.matches("approved: false").count(), 2, "{exported}");
    let other = Project::new();
    other.write("t.yaml", exported.replace("- \"auth-001\"", "- \"auth-009\""));
    task(&other, &["import", "t.yaml"]).expect(0);
    assert!(listed(&other).iter().all(|(_, approved)| !approved), "nor does carrying");
    task(&project, &["edit", "auth-002", "--coder-verify", "string_match"]).expect(0);
    let two: Vec<_> = listed(&project).into_iter().filter(|(id, _)| id == "auth-002").collect();
    assert_eq!(two, [("auth-002".to_owned(), true)], "what starts nothing needs no approval");
}

/// Runs an agent that calls `ralph task` without the variable that marks it, and returns exit code and output.
fn inside(project: &Project, args: &str) -> (i32, String) {
    let (printed, code) = (project.outside("said"), project.outside("code"));
    let ralph = env!("CARGO_BIN_EXE_ralph");
    project
        .run_shell(&format!(
            "cat > /dev/null; env -u RALPH_RUN_ID {ralph} task {args} > '{}' 2>&1; echo $? > '{}'; echo '<promise>COMPLETE</promise>'",
            printed.display(),
            code.display()
        ))
        .output()
        .expect(0);
    let code = fs::read_to_string(code).unwrap().trim().parse().unwrap();
    (code, fs::read_to_string(printed).unwrap())
}

// spec: T8
#[test]
fn an_agent_of_a_run_cannot_approve_and_its_tasks_wait() {
    let project = generated();
    let (code, printed) = inside(&project, "approve --all --yes");
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("an agent cannot approve what agents wrote"), "{printed}");
    let (code, printed) = inside(&project, "create T-1 s Mine --outcome o --acceptance a --coder-verify-cmd make");
    assert_eq!(code, 0, "{printed}");
    assert!(listed(&project).contains(&("T-1".to_owned(), false)));
    task(&project, &["approve", "T-1", "--yes"]).expect(0);
    assert_eq!(inside(&project, "edit T-1 --title Yours").0, 0);
    assert!(listed(&project).contains(&("T-1".to_owned(), true)), "a title decides nothing");
    assert_eq!(inside(&project, "edit T-1 --coder-verify-cmd 'rm -rf x'").0, 0);
    assert!(listed(&project).contains(&("T-1".to_owned(), false)));
}

// spec: T8, V9
// fault: 76
#[test]
fn a_task_that_an_agent_weakened_waits_for_approval() {
    let easier = [
        "--coder-verify string_match",
        "--acceptance anything",
        "--outcome whatever",
        "--reviewer-max-iterations 1",
        "--coder-verify-config '{\"command\": \"make\", \"success_exit_code\": 2}'",
    ];
    for flags in easier {
        let project = Project::new();
        let create = ["create", "T-1", "s", "Mine", "--outcome", "o", "--acceptance", "a"];
        task(&project, &[&create[..], &["--coder-verify-cmd", "make"]].concat()).expect(0);
        let (code, printed) = inside(&project, &format!("edit T-1 {flags}"));
        assert_eq!(code, 0, "{flags}: {printed}");
        assert_eq!(listed(&project), [("T-1".to_owned(), false)], "{flags}");
        let refused = stage(&project, "T-1").output().expect(1).stderr;
        assert!(refused.contains("an agent wrote the criteria of task T-1"), "{flags}: {refused}");
        task(&project, &["edit", "T-1", "--title", "Other"]).expect(0);
        assert_eq!(listed(&project), [("T-1".to_owned(), false)], "{flags}: a title approves nothing");
        let shown = task(&project, &["approve", "T-1", "--yes"]).expect(0).stdout;
        assert!(shown.contains("  outcome\n      ") && shown.contains("  acceptance\n      "), "{shown}");
        assert_eq!(listed(&project), [("T-1".to_owned(), true)], "{flags}");
    }
}

// spec: T8, T1
// fault: 76
#[test]
fn an_agent_can_neither_set_the_status_of_a_task_nor_delete_it() {
    let project = Project::new();
    for id in ["T-1", "T-2"] {
        task(&project, &["create", id, "s", "Mine", "--outcome", "o", "--acceptance", "a"]).expect(0);
    }
    project.write("done.yaml", "- {id: T-3, title: x, status: done}\n");
    let refused = [
        ("edit T-2 --status done", "task T-2: an agent cannot set its status to done"),
        ("edit T-2 --title x --status qa", "task T-2: an agent cannot set its status to qa"),
        ("import done.yaml", "task T-3: an agent cannot set its status to done"),
        ("import done.yaml --dry-run", "task T-3: an agent cannot set its status to done"),
        ("delete T-2", "an agent cannot delete tasks"),
    ];
    for (args, words) in refused {
        let (code, message) = inside(&project, args);
        assert_eq!(code, 1, "{args}: {message}");
        assert!(message.contains(words), "{args}: {message}");
    }
    let rows = task(&project, &["list", "--json"]).expect(0).json();
    let printed: Vec<_> = rows.as_array().unwrap().iter().map(|row| (&row["id"], &row["status"])).collect();
    assert_eq!(printed, [(&json!("T-1"), &json!("todo")), (&json!("T-2"), &json!("todo"))]);
}

// spec: T8, X1
// fault: 74
#[test]
fn a_command_cannot_hide_itself_during_approval() {
    let project = with_spec();
    let sly = json!([{"id": "x", "title": "a\u{1b}[2Jb", "approved": false, "completion": {"outcome": "o",
        "acceptance_criteria": ["a"], "coder": {"verification_config":
            {"command": "true #\u{1b}[1A\u{1b}[2K\rrm -rf /tmp/\u{202e}x\nsecond"}}}}]);
    project.write("t.json", sly.to_string());
    task(&project, &["import", "t.json"]).expect(0);
    let shown = task(&project, &["approve", "x"]).expect(1).stdout;
    let expected = "x  a\\u{1b}[2Jb\n  outcome\n      o\n  acceptance\n      a\n  coder\n      true #\\u{1b}[1A\\u{1b}[2K\\rrm -rf /tmp/\\u{202e}x\n      second\n";
    assert_eq!(shown, expected);
    let refused = stage(&project, "x").output().expect(1).stderr;
    assert!(refused.contains("rm -rf /tmp/\\u{202e}x") && !refused.contains('\u{1b}'), "{refused}");
}
