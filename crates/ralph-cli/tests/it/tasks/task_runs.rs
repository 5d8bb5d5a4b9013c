//! Stages of tasks: an agent works in a role, and the criteria of the task decide.
use serde_json::{Value, json};

use crate::harness::{Call, CallOutput, FAKE_AGENT, Project, wait_until};

fn project_with(task: &str) -> Project {
    let project = Project::new();
    project.write("task.yaml", task);
    project.ralph(["task", "import", "task.yaml"]).output().expect(0);
    project
}

/// A task whose coder is checked by a command.
fn checked() -> Project {
    project_with(
        "task:\n  id: T-1\n  spec_id: auth\n  title: Add a login\n  completion:\n    outcome: People can log in\n    \
         acceptance_criteria: [a bad password gives 401]\n    coder:\n      promise: AUTH_DONE\n      \
         verification_config: {command: test -e fixed}\n      max_iterations: 4\n    reviewer:\n      \
         verification_method: string_match\n    tester:\n      verification_method: string_match\n",
    )
}

/// Most of these agents commit nothing, so commits are not required.
fn stage<'a>(project: &'a Project, role: &str, mode: &[&str]) -> Call<'a> {
    let agent = ["task", "run", "T-1", "--role", role, "--agent", "text", "--agent-cmd", FAKE_AGENT];
    let call = project.ralph(agent).env("RALPH_VERIFICATION_ROLE_CHECKS", "off");
    call.args(mode.iter().map(|arg| format!("--agent-arg={arg}")))
}

fn scripted<'a>(project: &'a Project, role: &str, promise: &str, steps: &str) -> Call<'a> {
    let script = project.script(steps);
    // Each stage restarts its script.
    let _ = std::fs::remove_file(project.outside("starts"));
    stage(project, role, &["script", &script]).env("FA_PROMISE", promise)
}

// spec: V13
// fault: 76
#[test]
fn a_coder_without_a_commit_is_rejected() {
    let project = checked();
    project.commit();
    let steps = "write fixed yes\ntext Done.\\n\\n{promise}\n---\ncommit nothing\ntext Done.\\n\\n{promise}\n";
    let coder =
        |steps: &str| scripted(&project, "coder", "AUTH_DONE", steps).env("RALPH_VERIFICATION_ROLE_CHECKS", "on");
    let answer = coder(steps).args(["--json"]).output().expect(0);
    let verdicts = answer.events_named("verdict");
    assert_eq!((&verdicts[0]["verdict"], &verdicts[1]["verdict"]), (&json!("rejected"), &json!("accepted")));
    let reason = verdicts[0]["reason"].as_str().unwrap();
    assert!(reason.contains("nothing was committed since the run began: fixed"), "{reason}");
    let printed = project.ralph(["task", "show", "T-1"]).output().expect(0).stdout;
    assert!(printed.contains("\n  baseline  `test -e fixed` fails before the work: "), "{printed}");
    assert!(printed.contains("\n  sealed    the criteria, "), "{printed}");
}

/// Runs one stage with the duty of its role set by this key, and returns its journal.
fn journal_with_duty(key: &str, (role, promise): (&str, &str), text: &str) -> CallOutput {
    let project = checked();
    project.commit();
    project.write("fixed", "yes");
    let steps = format!("text {text}\\n\\n{{promise}}\n");
    let call = scripted(&project, role, promise, &steps).env("RALPH_VERIFICATION_ROLE_CHECKS", "on");
    call.env(key, "off").args(["--json", "--max-iterations", "1"]).output()
}

// spec: V13, G2
#[test]
fn the_duty_of_each_role_can_be_switched_off() {
    let coder = ("coder", "AUTH_DONE");
    journal_with_duty("RALPH_NOTHING", coder, "Done.").expect(3);
    journal_with_duty("RALPH_CODER_ROLE_CHECK", coder, "Done.").expect(0);
    let reviewer = ("reviewer", "REVIEW_PASSED");
    let both = "<reject>no tests</reject>\\nStill fine.";
    assert_ne!(journal_with_duty("RALPH_NOTHING", reviewer, both).finished()["outcome"], "completed");
    assert_eq!(journal_with_duty("RALPH_REVIEWER_ROLE_CHECK", reviewer, both).finished()["outcome"], "completed");
}

// spec: V13
#[test]
fn a_tester_whose_claim_is_backed_by_no_check_gets_a_note() {
    let tester = ("tester", "TESTS_PASSED");
    let note = "no external check backs the tester's claim";
    let notes = |key| journal_with_duty(key, tester, "Fine.").events_named("run.sealed")[0]["notes"].clone();
    assert_eq!(notes("RALPH_NOTHING"), json!([note]));
    assert_eq!(notes("RALPH_TESTER_ROLE_CHECK"), Value::Null);
    assert_eq!(notes("RALPH_VERIFICATION_ROLE_CHECKS"), Value::Null);
}

// spec: V13
#[test]
fn a_reviewer_that_approves_and_rejects_at_once_is_asked_again() {
    let project = checked();
    let steps = "text <reject>no tests</reject>\\nStill fine.\\n\\n{promise}\n---\ntext Fine.\\n\\n{promise}\n";
    let call = scripted(&project, "reviewer", "REVIEW_PASSED", steps).env("RALPH_VERIFICATION_ROLE_CHECKS", "on");
    let answer = call.args(["--json"]).output().expect(0);
    let claims = answer.events_named("claim");
    assert_eq!((&claims[0]["claim"]["accepted"], &claims[1]["claim"]["accepted"]), (&json!(false), &json!(true)));
    assert!(claims[0]["claim"]["why"].as_str().unwrap().contains("rejects the work"), "{}", claims[0]);
}

fn shown(project: &Project) -> Value {
    project.ralph(["task", "show", "T-1", "--json"]).output().expect(0).json()
}

// spec: T1
#[test]
fn a_stage_run_out_of_order_does_not_change_the_task() {
    let project = checked();
    let pass = |role: &str, promise: &str| {
        let call = scripted(&project, role, promise, "write fixed yes\ntext Fine.\\n\\n{promise}\n");
        let answer = call.output().expect(0);
        (shown(&project)["status"].clone(), answer.stderr)
    };
    let (status, printed) = pass("tester", "TESTS_PASSED");
    assert_eq!(status, "todo", "no work was done yet");
    let words = "warning: task T-1 is todo, so it is not the turn of the tester: whatever the result of this stage, the task stays todo";
    assert!(printed.contains(words), "{printed}");
    let (status, printed) = pass("coder", "AUTH_DONE");
    assert_eq!(status, "reviewing");
    assert!(!printed.contains("not the turn"), "{printed}");
    assert_eq!(pass("tester", "TESTS_PASSED").0, "reviewing", "the reviewer comes first");
    assert_eq!(pass("reviewer", "REVIEW_PASSED").0, "testing");
    assert_eq!(pass("reviewer", "REVIEW_PASSED").0, "testing", "once more changes nothing");
    assert_eq!(pass("tester", "TESTS_PASSED").0, "qa");
    assert_eq!(pass("coder", "AUTH_DONE").0, "reviewing", "changed work is reviewed again");
}

// spec: T1
#[test]
fn a_judging_stage_that_failed_is_repeated() {
    let project = checked();
    scripted(&project, "coder", "AUTH_DONE", "write fixed yes\ntext Done.\\n\\n{promise}\n").output().expect(0);
    let failing = scripted(&project, "reviewer", "REVIEW_PASSED", "exit 1\n").args(["--max-retries", "0"]);
    failing.output().expect(4);
    assert_eq!(shown(&project)["status"], "todo");
    let again = scripted(&project, "reviewer", "REVIEW_PASSED", "text Fine.\\n\\n{promise}\n").output().expect(0);
    assert!(!again.stderr.contains("not the turn"), "{}", again.stderr);
    assert_eq!(shown(&project)["status"], "testing");
}

// spec: T2, T7, P3, L4
#[test]
fn the_coder_s_stage_uses_the_criteria_of_its_task() {
    let project = checked();
    let steps =
        "prompt prompt-1\ntext Done.\\n\\n{promise}\n---\nprompt prompt-2\nwrite fixed yes\ntext Now.\\n\\n{promise}\n";
    let answer = scripted(&project, "coder", "AUTH_DONE", steps).args(["--json"]).output().expect(0);
    let verdicts: Vec<_> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"]);
    let prompt = |name: &str| std::fs::read_to_string(project.root().join(name)).unwrap();
    let first = prompt("prompt-1");
    for part in [
        "- **Task**: T-1\n- **Title**: Add a login\n- **Spec**: auth\n- **Stage**: coder\n- **Iteration**: 1/4\n",
        "People can log in",
        "- [ ] a bad password gives 401",
        "<promise>AUTH_DONE</promise>",
        "verified using: external (`test -e fixed`)",
        "## Notes",
    ] {
        assert!(first.contains(part), "{part:?} is not in\n{first}");
    }
    assert_eq!(first.matches("<promise").count(), 1);
    let second = prompt("prompt-2");
    assert!(second.contains("**Iteration**: 2/4") && second.contains("## Your last claim was rejected"), "{second}");
}

// spec: T1, T5
#[test]
fn a_task_shows_each_criterion_with_verdict_reason_duration_and_output() {
    let project = checked();
    let steps = "text Done.\\n\\n{promise}\n---\nwrite fixed yes\ntext Now.\\n\\n{promise}\n";
    scripted(&project, "coder", "AUTH_DONE", steps).output().expect(0);
    let shown = shown(&project);
    assert_eq!((&shown["status"], &shown["iteration"]), (&json!("reviewing"), &json!(2)));
    assert_eq!(shown["metadata"]["ralph"], Value::Null, "no run is active");
    let runs = shown["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["role"], &runs[0]["kind"]), (1, &json!("coder"), &json!("task")));
    let check = &runs[0]["iterations"][0]["checks"][0];
    assert_eq!((&check["verdict"], &check["command"]), (&json!("rejected"), &json!("test -e fixed")));
    let text = project.ralph(["task", "show", "T-1"]).output().expect(0).stdout;
    for part in [
        "status    reviewing (coder ",
        ": completed, iteration 2/4)",
        "`test -e fixed` (external): Command exited with 1, expected 0",
        "iteration-001.check-1.log",
        "iteration-002.check-1.log",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

// spec: T1, S6, P3
// finding: N15
#[test]
fn a_judging_role_sends_the_work_back_and_the_next_coder_gets_the_reason() {
    let project = checked();
    project.ralph(["task", "edit", "T-1", "--status", "reviewing"]).output().expect(0);
    let answer = scripted(
        &project,
        "reviewer",
        "REVIEW_PASSED",
        "text Not yet.\\n\\n<reject>no tests for bad passwords</reject>\n",
    )
    .args(["--json"])
    .output()
    .expect(3);
    let finished = answer.finished();
    assert_eq!((&finished["outcome"], &finished["iterations"]), (&json!("blocked"), &json!(1)));
    assert_eq!(finished["reason"], "the work is sent back: no tests for bad passwords");
    assert_eq!(shown(&project)["status"], "coding");
    // A coder that does nothing does not answer the rejection.
    scripted(&project, "coder", "AUTH_DONE", "text I looked.\n").args(["--max-iterations", "1"]).output().expect(3);
    let steps = "prompt prompt-1\nwrite fixed yes\ntext Done.\\n\\n{promise}\n";
    scripted(&project, "coder", "AUTH_DONE", steps).output().expect(0);
    let prompt = std::fs::read_to_string(project.root().join("prompt-1")).unwrap();
    assert!(prompt.contains("The reason: no tests for bad passwords"), "{prompt}");
    let passed = scripted(&project, "reviewer", "REVIEW_PASSED", "text Fine.\\n\\n{promise}\n").output().expect(0);
    assert!(passed.stdout.contains("unverified"), "{}", passed.stdout);
    assert_eq!(shown(&project)["status"], "testing");
    assert_eq!(shown(&project)["runs"].as_array().unwrap().len(), 4);
}

// spec: T1
#[test]
fn an_exhausted_stage_returns_the_task_and_a_blocked_one_blocks_it() {
    let project = checked();
    stage(&project, "coder", &["work"]).args(["--max-iterations", "2"]).output().expect(3);
    assert_eq!(shown(&project)["status"], "todo");
    let blocked = scripted(&project, "coder", "AUTH_DONE", "text <blocked>no database</blocked>\n").output().expect(6);
    assert!(blocked.stdout.contains("no database"), "{}", blocked.stdout);
    assert_eq!(shown(&project)["status"], "blocked");
}

// spec: P5
// finding: N32
#[test]
fn a_failed_stage_is_recorded_with_its_task_and_the_last_rejection() {
    let project = checked();
    let agent = "text Everything works.\\n\\n{promise}\n---\ntext It still works.\\n\\n{promise}\n";
    scripted(&project, "coder", "AUTH_DONE", agent).args(["--max-iterations", "2"]).output().expect(3);
    let failure = shown(&project)["metadata"]["ralph_failure"].clone();
    assert_eq!((&failure["stage"], &failure["iterations_used"]), (&json!("coder"), &json!(2)), "{failure}");
    assert!(failure["last_output"].as_str().unwrap().starts_with("It still works."), "{failure}");
    let reason = failure["reason"].as_str().unwrap();
    assert!(reason.starts_with("Max iterations reached. Last verification: `test -e fixed`: "), "{reason}");
    stage(&project, "coder", &["work"]).args(["--max-iterations", "1"]).output().expect(3);
    let failure = shown(&project)["metadata"]["ralph_failure"].clone();
    assert_eq!(failure["reason"], "Max iterations reached without completion promise");
}

// finding: N25
// spec: S13
#[test]
fn the_next_prompt_of_a_stage_says_why_a_printed_promise_did_not_count() {
    let project = checked();
    let kept = project.outside("prompt");
    let agent = format!("prompt {}\ntext I will not print {{promise}} yet.\n", kept.display());
    scripted(&project, "coder", "AUTH_DONE", &agent).args(["--max-iterations", "2"]).output().expect(3);
    let second = std::fs::read_to_string(kept).unwrap();
    assert!(second.contains("did not count as a claim: the sentence around the tag negates it"), "{second}");
    assert!(!second.contains("did not output the completion promise"), "{second}");
}

// spec: T6
#[test]
fn a_task_without_criteria_runs_with_a_warning_or_is_refused() {
    let project = Project::new();
    project.ralph(["task", "create", "T-1", "s", "Tidy up", "--no-criteria"]).output().expect(0);
    let refused = stage(&project, "coder", &["complete"]).args(["--require-criteria"]).output().expect(64);
    assert!(refused.stderr.contains("task T-1 has no completion spec"), "{}", refused.stderr);
    assert!(project.starts().is_empty());
    let answer =
        stage(&project, "coder", &["complete"]).env("FA_PROMISE", "IMPLEMENTATION_COMPLETE").output().expect(0);
    assert!(answer.stderr.contains("warning: task T-1 has no completion spec"), "{}", answer.stderr);
    assert!(answer.stdout.contains("unverified"), "{}", answer.stdout);
}

// spec: T7, G2
#[test]
fn the_configuration_provides_the_settings_that_the_task_omits() {
    let project = checked();
    std::fs::create_dir_all(project.root().join(".ralph")).unwrap();
    let config = "ralph:\n  verify_promises: false\n  coder: {max_iterations: 9}\n  reviewer: {enabled: false, completion_promise: LOOKS_FINE}\n";
    project.write(".ralph/config.yaml", config);
    project.ralph(["trust", "--yes"]).output().expect(0);
    let answer = stage(&project, "coder", &["complete"]).env("FA_PROMISE", "AUTH_DONE").output().expect(0);
    let warning = "warning: verify_promises is false: the claim alone decides, and nothing is verified";
    assert!(answer.stderr.contains(warning), "{}", answer.stderr);
    assert!(answer.stderr.contains("promise AUTH_DONE · at most 4 iterations"), "the task's own: {}", answer.stderr);
    let answer = stage(&project, "reviewer", &["work"]).output().expect(3);
    assert!(answer.stderr.contains("promise LOOKS_FINE · at most 1 iteration"), "{}", answer.stderr);
    let answer = stage(&project, "docs", &["work"]).args(["--max-iterations", "1"]).output().expect(3);
    assert!(answer.stderr.contains("promise STAGE_COMPLETE"), "{}", answer.stderr);
}

// spec: T5
#[test]
fn a_waiting_or_finished_task_is_not_started() {
    let project = checked();
    project.ralph(["task", "create", "T-0", "s", "First", "--no-criteria"]).output().expect(0);
    project.ralph(["task", "edit", "T-1", "--depends", "T-0"]).output().expect(0);
    let waits = stage(&project, "coder", &["complete"]).output().expect(1);
    assert!(waits.stderr.contains("task T-1 waits for T-0"), "{}", waits.stderr);
    project.ralph(["task", "edit", "T-1", "--depends", "", "--status", "done"]).output().expect(0);
    let done = stage(&project, "coder", &["complete"]).output().expect(1);
    assert!(done.stderr.contains("task T-1 is done"), "{}", done.stderr);
    assert!(project.starts().is_empty());
}

// spec: L13, T1
#[test]
fn a_killed_stage_is_resumed_and_then_changes_its_task() {
    let project = checked();
    let steps = "touch began\nwait go\nwrite fixed yes\ntext Done.\\n\\n{promise}\n";
    let running = scripted(&project, "coder", "AUTH_DONE", steps).start();
    let began = project.root().join("began");
    wait_until("the agent works", || began.exists());
    let meanwhile = |args: &[&str]| project.ralph(args).start().wait_without_invariants();
    let now = || meanwhile(&["task", "show", "T-1", "--json"]).json()["status"].clone();
    assert_eq!(now(), "coding");
    let second = stage(&project, "reviewer", &["complete"]).start().wait_without_invariants().expect(1);
    assert!(second.stderr.contains("is working on task T-1"), "{}", second.stderr);
    assert!(meanwhile(&["task", "delete", "T-1"]).expect(1).stderr.contains("is working on task T-1"));
    running.signal(rustix::process::Signal::KILL);
    running.wait_without_invariants();
    wait_until("all that it started is gone", || project.processes_of_runs().is_empty());
    assert_eq!(now(), "coding");
    project.write("go", "");
    project.ralph(["resume"]).env("FA_PROMISE", "AUTH_DONE").output().expect(0);
    let shown = shown(&project);
    assert_eq!((&shown["status"], &shown["runs"].as_array().unwrap().len()), (&json!("reviewing"), &1));
}

// spec: X1
#[test]
fn only_the_command_of_a_task_reaches_a_shell() {
    let canary = "canary";
    let sly = format!("x; touch {canary} `touch {canary}` $(touch {canary}) '\" -rf");
    let project = Project::new();
    let create = ["task", "create", "T-1", "s", &sly, "--outcome", &sly, "--acceptance", &sly, "--description", &sly];
    let flags = ["--coder-promise", &sly, "--coder-description", &sly, "--coder-verify-cmd", "true"];
    project.ralph(create).args(flags).output().expect(0);
    stage(&project, "coder", &["work"]).args(["--max-iterations", "1"]).output().expect(3);
    assert!(!project.root().join(canary).exists());
    let argv = ["--coder-verify", "external", "--coder-verify-config"];
    let config = json!({"command": ["test", "x", "!=", sly], "env": {"SLY": sly}}).to_string();
    project
        .ralph(["task", "edit", "T-1"])
        .args(argv)
        .args([config.as_str(), "--coder-promise", "PROVEN"])
        .output()
        .expect(0);
    stage(&project, "coder", &["complete"]).env("FA_PROMISE", "PROVEN").output().expect(0);
    assert!(!project.root().join(canary).exists());
}

// spec: T1, D4
#[test]
fn an_exported_run_keeps_its_task_and_role_and_moves_no_task_elsewhere() {
    let project = checked();
    let steps = "write fixed yes\ncommit fixed\ntext Done.\\n\\n{promise}\n";
    scripted(&project, "coder", "AUTH_DONE", steps).output().expect(0);
    let exported = project.ralph(["export"]).output().expect(0).stdout;
    let header: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    assert_eq!((&header["task"], &header["role"]), (&json!("T-1"), &json!("coder")));
    let other = checked();
    std::fs::write(other.outside("run.jsonl"), &exported).unwrap();
    other.ralph(["import"]).args([other.outside("run.jsonl")]).output().expect(0);
    let shown = shown(&other);
    assert_eq!((&shown["status"], &shown["runs"][0]["role"]), (&json!("todo"), &json!("coder")));
    let again = other.ralph(["export"]).output().expect(0).stdout;
    assert_eq!(again, exported);
}

fn with_template(body: &str) -> Project {
    let project = project_with(&format!(
        "task:\n  id: T-1\n  title: t\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    coder:\n      \
         promise: MADE_IT\n      {body}\n"
    ));
    project.write("there", "x");
    project
}

// spec: V6, T7
#[test]
fn a_template_in_a_task_is_the_check_of_its_stage() {
    let project = with_template("verification_config: {template: files-exist, with: {files: [there, made]}}");
    let steps = "text Done.\\n\\n{promise}\n---\nwrite made yes\ncommit made\ntext Now.\\n\\n{promise}\n";
    let answer = scripted(&project, "coder", "MADE_IT", steps).args(["--json"]).output().expect(0);
    let verdicts: Vec<_> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"]);
}

// spec: V6, X6
#[test]
fn a_template_of_the_project_in_a_task_must_be_trusted_even_as_a_stage() {
    let forms = [
        "verification_config: {template: ours}",
        "verification_method: multi_stage\n      verification_config: {stages: [{name: x, config: {template: ours}}]}",
    ];
    for form in forms {
        let project = Project::new();
        std::fs::create_dir_all(project.root().join(".ralph/templates")).unwrap();
        project.write(".ralph/templates/ours.yaml", "check: touch canary\n");
        project.write(
            "task.yaml",
            format!("task:\n  id: T-1\n  title: t\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    coder:\n      promise: MADE_IT\n      {form}\n"),
        );
        project.ralph(["task", "import", "task.yaml"]).output().expect(0);
        let steps = "write made yes\ncommit made\ntext Done.\\n\\n{promise}\n";
        let refused = scripted(&project, "coder", "MADE_IT", steps).output().expect(1);
        assert!(refused.stderr.contains("templates.ours: check: touch canary"), "{}", refused.stderr);
        assert!(!project.root().join("canary").exists());
        project.trust();
        scripted(&project, "coder", "MADE_IT", steps).output().expect(0);
        assert!(project.root().join("canary").exists());
    }
}

// spec: T7, X6
#[test]
fn the_project_s_checks_apply_to_a_stage_without_criteria_in_the_task() {
    let project = checked();
    std::fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "checks: [test -e proven]\n");
    project.ralph(["task", "create", "T-2", "s", "Tidy up", "--no-criteria"]).output().expect(0);
    let run = |id: &'static str, role: &str, promise: &str, steps: &str| {
        let script = project.script(steps);
        let _ = std::fs::remove_file(project.outside("starts"));
        let agent = ["task", "run", id, "--role", role, "--agent", "text", "--agent-cmd", FAKE_AGENT, "--json"];
        let mode = ["--agent-arg=script".to_owned(), format!("--agent-arg={script}")];
        project.ralph(agent).args(mode).env("FA_PROMISE", promise).output()
    };
    let done = "write fixed yes\ncommit c\ntext Done.\\n\\n{promise}\n";
    let own = run("T-1", "coder", "AUTH_DONE", done).expect(0);
    assert!(!own.stdout.contains("test -e proven"), "the task says how: {}", own.stdout);
    let untrusted = run("T-2", "coder", "IMPLEMENTATION_COMPLETE", done).expect(1);
    assert!(untrusted.stderr.contains("checks: test -e proven"), "{}", untrusted.stderr);
    project.trust();
    let steps = "commit a\ntext Done.\\n\\n{promise}\n---\nwrite proven yes\ncommit b\ntext Now.\\n\\n{promise}\n";
    let answer = run("T-2", "coder", "IMPLEMENTATION_COMPLETE", steps).expect(0);
    let verdicts: Vec<_> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"]);
    assert!(answer.stderr.contains("the project checks decide"), "{}", answer.stderr);
    let shown = project.ralph(["task", "show", "T-2"]).output().expect(0).stdout;
    assert!(shown.contains("external: test -e proven"), "{shown}");
}

/// Runs the coder's stage of T-1 once, and returns its prompt.
fn coder_prompt(project: &Project) -> String {
    let shown = project.outside("prompt");
    let agent = format!("cat > '{}'; echo working", shown.display());
    let call = ["task", "run", "T-1", "--role", "coder", "--agent", "text", "--agent-cmd", "/bin/sh", "--agent-arg=-c"];
    let call = project.ralph(call).args([format!("--agent-arg={agent}")]).args(["--max-iterations", "1"]);
    call.output().expect(3);
    std::fs::read_to_string(shown).unwrap()
}

// spec: T10
// finding: N22
#[test]
fn the_specification_of_a_task_is_in_the_prompt_of_its_stage() {
    let project = checked();
    std::fs::create_dir_all(project.root().join("specs")).unwrap();
    project.write("specs/auth.md", "Passwords are hashed with argon2.\n");
    let prompt = coder_prompt(&project);
    assert!(prompt.contains("This is `specs/auth.md`"), "{prompt}");
    assert!(prompt.contains("Passwords are hashed with argon2."), "{prompt}");
}

// spec: T10
#[test]
fn a_task_can_name_the_file_of_its_specification() {
    let project = project_with(
        "task:\n  id: T-1\n  spec_id: auth\n  spec_file: docs/login.md\n  title: Add a login\n  completion:\n    \
         outcome: People can log in\n    acceptance_criteria: [a bad password gives 401]\n    coder:\n      \
         promise: AUTH_DONE\n      verification_config: {command: test -e fixed}\n",
    );
    std::fs::create_dir_all(project.root().join("docs")).unwrap();
    project.write("docs/login.md", "Tokens expire after an hour.\n");
    let prompt = coder_prompt(&project);
    assert!(prompt.contains("This is `docs/login.md`") && prompt.contains("Tokens expire after an hour."), "{prompt}");
    let shown = project.ralph(["task", "show", "T-1", "--json"]).output().expect(0).json();
    assert_eq!(shown["spec_file"], "docs/login.md");
    let exported = project.ralph(["task", "export"]).output().expect(0).stdout;
    assert!(exported.contains("spec_file: \"docs/login.md\""), "{exported}");
}

// spec: T10
#[test]
fn a_specification_that_is_a_pipe_does_not_stop_the_run() {
    let project = checked();
    std::fs::create_dir_all(project.root().join("specs")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(project.root().join("specs/auth.md")).status().unwrap();
    assert!(made.success());
    assert!(coder_prompt(&project).contains("There is no readable file `specs/auth.md`."));
}
