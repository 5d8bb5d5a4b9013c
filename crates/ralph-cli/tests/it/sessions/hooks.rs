//! The loop inside a running session: the test calls the real binary as a host calls its hooks.
use std::fs;

use serde_json::{Value, json};

use crate::harness::{Call, Project, wait_until};

/// What a hook printed.
pub fn hook(project: &Project, host: &str, event: &Value) -> Value {
    let answer = project.ralph(["hook", host]).input(event.to_string()).output().expect(0);
    serde_json::from_str(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {}", answer.stdout))
}

/// The end of a turn in a session.
pub fn stop(session: &str, message: &str) -> Value {
    json!({
        "session_id": session, "transcript_path": "/nowhere/session.jsonl", "cwd": "/", "prompt_id": "p",
        "permission_mode": "bypassPermissions", "effort": {"level": "medium"}, "hook_event_name": "Stop",
        "stop_hook_active": false, "last_assistant_message": message, "background_tasks": [], "session_crons": []
    })
}

pub fn start<'a>(project: &'a Project, session: &str, more: &[&str]) -> Call<'a> {
    let usual = ["loop", "start", "--host", "claude", "--prompt", "Make done.txt", "--session", session];
    project.ralph(usual).args(more)
}

/// Returns what is known of a session's loop.
pub fn status(project: &Project, session: &str) -> Value {
    let printed = project.ralph(["loop", "status", "--json", "--session", session]).output().expect(0).stdout;
    let list: Value = serde_json::from_str(&printed).unwrap();
    list[0].clone()
}

fn reason(answer: &Value) -> &str {
    assert_eq!(answer["decision"], "block", "{answer}");
    answer["reason"].as_str().unwrap()
}

// spec: H1, H3, H5, H6, H7, V16
// finding: N34, N74
#[test]
fn a_session_that_claims_too_early_continues_until_the_check_passes() {
    let project = Project::new();
    let started = start(&project, "s1", &["--check", "test -f done.txt", "--max-iterations=5"]).output().expect(0);
    assert!(started.stdout.starts_with(
        "Ralph Loop Started: Max 5 iterations. Complete with <promise>DONE</promise>, checked by `test -f done.txt`\n\nMake done.txt\n"
    ));
    let answer = hook(&project, "claude", &stop("s1", "I think I am done."));
    assert!(reason(&answer).starts_with("[RALPH LOOP - ITERATION 2/5]\n\nYour previous attempt did not"));
    assert_eq!(answer["systemMessage"], "Ralph Loop: Iteration 2/5");
    let answer = hook(&project, "claude", &stop("s1", "Now really. <promise>DONE</promise>"));
    let rejected = "Your completion claim was rejected: `test -f done.txt`: Command exited with 1, expected 0.";
    assert!(reason(&answer).contains(rejected), "{answer}");
    project.write("done.txt", "");
    let answer = hook(&project, "claude", &stop("s1", "Done. <promise>DONE</promise>"));
    let verified = "1 check passed (proven: `test -f done.txt` failed before the work and passes now)";
    let notice = format!("Ralph Loop Complete! Task completed after 3 iteration(s): {verified}");
    assert_eq!(answer, json!({ "systemMessage": notice }));
    let reply = status(&project, "s1");
    assert_eq!(
        (&reply["active"], &reply["outcome"], &reply["reason"]),
        (&json!(false), &json!("completed"), &json!("1 check passed"))
    );
    assert_eq!(hook(&project, "claude", &stop("s1", "Anything else?")), json!({}));
}

// spec: H4
// fault: 112
#[test]
fn two_sessions_in_one_project_never_see_each_other() {
    let project = Project::new();
    start(&project, "one", &[]).output().expect(0);
    let before = status(&project, "one");
    assert_eq!(hook(&project, "claude", &stop("two", "I am done.")), json!({}));
    assert_eq!(hook(&project, "codex", &stop("one", "The same id in another program.")), json!({}));
    assert_eq!(status(&project, "one"), before);
    start(&project, "two", &["--completion-promise=OTHER"]).output().expect(0);
    hook(&project, "claude", &stop("two", "<promise>OTHER</promise>"));
    assert_eq!((&status(&project, "one")["active"], &status(&project, "two")["active"]), (&json!(true), &json!(false)));
    reason(&hook(&project, "claude", &stop("one", "<promise>OTHER</promise>")));
}

// spec: H4
#[test]
fn a_session_without_an_id_is_ignored_with_a_notice() {
    let project = Project::new();
    let answer = project.ralph(["hook", "claude"]).input(r#"{"hook_event_name":"Stop"}"#).output().expect(0);
    assert_eq!(answer.stdout, "{}\n");
    assert!(answer.stderr.contains("has no session id; nothing was done"), "{}", answer.stderr);
    for command in [vec!["loop", "start", "--prompt", "x"], vec!["loop", "cancel", "--session", " "]] {
        let refused = project.ralph(command).output().expect(64);
        assert!(refused.stderr.contains("no session id was given; nothing was done"), "{}", refused.stderr);
    }
}

// spec: V17, H4
// finding: N20
#[test]
fn the_agent_of_a_session_cannot_replace_or_cancel_its_active_loop() {
    let project = Project::new();
    start(&project, "s", &["--check", "test -f done.txt"]).env("CLAUDECODE", "1").output().expect(0);
    let refused = start(&project, "s", &[]).env("CLAUDECODE", "1").output().expect(1).stderr;
    assert!(refused.contains("an agent cannot replace the loop of a session"), "{refused}");
    let unmarked = ["loop", "start", "--session", "s", "--prompt", "Nothing"];
    project.ralph(unmarked).env("CLAUDECODE", "1").output().expect(1);
    let cancel = ["loop", "cancel", "--session", "s"];
    let refused = project.ralph(cancel).env("CLAUDECODE", "1").output().expect(1).stderr;
    assert!(refused.contains("an agent cannot cancel the loop of a session"), "{refused}");
    assert_eq!(status(&project, "s")["checks"], json!(["test -f done.txt"]));
    let typed =
        json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "/cancel-ralph", "cwd": "/"});
    let event = project.ralph(["hook", "claude"]).env("CLAUDECODE", "1").input(typed.to_string());
    event.output().expect(0);
    assert_eq!(status(&project, "s")["active"], json!(false), "the person cancels by typing");
}

// spec: H7
// finding: N20
#[test]
fn the_next_stop_says_that_the_loop_was_replaced() {
    let project = Project::new();
    start(&project, "s", &["--check", "test -f done.txt"]).output().expect(0);
    start(&project, "s", &["--max-iterations=5"]).output().expect(0);
    let shown = hook(&project, "claude", &stop("s", "on it"))["systemMessage"].as_str().unwrap().to_owned();
    assert!(shown.contains("Ralph Loop Replaced: The loop at iteration 1/100 was replaced"), "{shown}");
    assert!(shown.contains("Ralph Loop: Iteration 2/5"), "{shown}");
    let shown = hook(&project, "claude", &stop("s", "still on it"))["systemMessage"].as_str().unwrap().to_owned();
    assert!(!shown.contains("Replaced"), "{shown}");
}

// spec: H4, H7
#[test]
fn starting_again_replaces_the_loop_with_a_notice_and_cancelling_none_says_so() {
    let project = Project::new();
    start(&project, "s", &["--max-iterations", "7"]).output().expect(0);
    hook(&project, "claude", &stop("s", "on it"));
    let again = start(&project, "s", &["--json"]).output().expect(0);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["notices"][0]["title"], "Ralph Loop Replaced");
    assert_eq!(again["notices"][0]["message"], "The loop at iteration 2/7 was replaced");
    assert_eq!((&again["iteration"], &again["maxIterations"]), (&json!(1), &json!(100)));
    let cancel = || project.ralph(["loop", "cancel", "--session", "s"]).output().expect(0).stdout;
    assert_eq!(cancel(), "Ralph Loop Cancelled: Stopped at iteration 1\n");
    assert_eq!(cancel(), "No Active Loop: No Ralph Loop is currently running\n");
    assert_eq!(hook(&project, "claude", &stop("s", "on it")), json!({}));
}

// spec: H3, H4
#[test]
fn a_loop_started_without_a_host_belongs_to_the_session_of_any_host() {
    let project = Project::new();
    project.ralph(["loop", "start", "--session", "s", "--prompt", "x"]).output().expect(0);
    reason(&hook(&project, "codex", &stop("s", "on it")));
    assert_eq!(status(&project, "s")["iteration"], 2);
    start(&project, "s", &[]).output().expect(0);
    assert_eq!(status(&project, "s")["iteration"], 1, "one session has one loop");
    assert_eq!(hook(&project, "codex", &stop("s", "on it")), json!({}));
}

// spec: H2, H3, X1
#[test]
fn a_user_prompt_starts_and_ends_a_loop_without_a_shell() {
    let project = Project::new();
    let says = |prompt: &str| {
        let event =
            json!({"session_id": "s", "cwd": project.root(), "hook_event_name": "UserPromptSubmit", "prompt": prompt});
        hook(&project, "claude", &event)
    };
    let task = "Don't touch $(touch pwned) `touch pwned` \"quoted\" ; touch pwned\r\n---";
    let answer = says(&format!("/ralph '{task}' --max-iterations=4 --check 'test -f \"done.txt\"'"));
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.starts_with(task) && context.contains("<promise>DONE</promise>"), "{context}");
    let reply = status(&project, "s");
    assert_eq!(
        (&reply["prompt"], &reply["checks"], &reply["maxIterations"]),
        (&json!(task), &json!(["test -f \"done.txt\""]), &json!(4))
    );
    assert!(says("/ralph-status")["reason"].as_str().unwrap().contains("claude s: iteration 1/4, started"));
    assert_eq!(says("how is it going?"), json!({}));
    assert_eq!(says("/cancel-ralph")["reason"], "Ralph Loop Cancelled: Stopped at iteration 1");
    assert_eq!(says("/cancel-ralph")["reason"], "No Active Loop: No Ralph Loop is currently running");
    let refused = says("/ralph fix it --max-iterations=many");
    assert!(refused["reason"].as_str().unwrap().contains("whole number"), "{refused}");
    assert!(!project.root().join("pwned").exists());
}

// spec: H2, H3
#[test]
fn the_arguments_of_a_slash_command_can_come_from_stdin() {
    let project = Project::new();
    let both = ["loop", "start", "--session", "s", "--arguments", "-", "--max-iterations", "3"];
    project.ralph(both).output().expect(64);
    let words = "\"Fix $HOME's tests\" --completion-promise ALL_FIXED --check \"make -s 'a b'\"";
    let call = project.ralph(["loop", "start", "--session", "s", "--host", "claude", "--arguments", "-"]);
    call.input(words).output().expect(0);
    let answer = status(&project, "s");
    assert_eq!(
        (&answer["prompt"], &answer["completionPromise"], &answer["checks"]),
        (&json!("Fix $HOME's tests"), &json!("ALL_FIXED"), &json!(["make -s 'a b'"]))
    );
}

// spec: H6, V9
#[test]
fn check_files_are_sealed_when_the_loop_starts() {
    let project = Project::new();
    project.write("check.sh", "exit 1\n");
    start(&project, "s", &["--check", "sh check.sh"]).output().expect(0);
    project.write("check.sh", "exit 0\n");
    let answer = hook(&project, "claude", &stop("s", "<promise>DONE</promise>"));
    assert!(reason(&answer).contains("check.sh was changed"), "{answer}");
}

// spec: H6, V10
#[test]
fn in_a_clean_room_only_committed_files_count_in_a_session_too() {
    let project = Project::new();
    fs::create_dir(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "verification: { isolation: clean }\n");
    project.write(".gitignore", "built.txt\n.ralph\n");
    project.commit();
    start(&project, "s", &["--check", "test ! -e built.txt && test -f done.txt"]).output().expect(0);
    let claim = || hook(&project, "claude", &stop("s", "<promise>DONE</promise>"));
    project.write("built.txt", "what no commit has");
    project.write("done.txt", "");
    let answer = claim();
    assert!(reason(&answer).contains("done.txt"), "what is not committed is named: {answer}");
    project.commit();
    let notice = claim()["systemMessage"].as_str().unwrap().to_owned();
    assert!(notice.starts_with("Ralph Loop Complete! Task completed after 2 iteration(s): 1 check passed"), "{notice}");
    assert!(project.root().join("built.txt").exists());
}

// spec: H6
// fault: 116
#[test]
fn a_check_in_a_clean_room_is_cancelled_with_its_loop_and_limited_to_the_hook_timeout() {
    let project = Project::new();
    project.write("done.txt", "");
    project.commit();
    let ready = project.outside("checking").display().to_string();
    start(&project, "s", &["--check", &format!("touch {ready}; sleep 600")])
        .env("RALPH_VERIFICATION_ISOLATION", "clean")
        .env("RALPH_VERIFICATION_BASELINE", "false")
        .output()
        .expect(0);
    let claim = || stop("s", "<promise>DONE</promise>").to_string();
    let slow = project.ralph(["hook", "claude", "--seconds", "4"]).input(claim()).output().expect(0);
    assert!(slow.stdout.contains("longer than the hook timeout of the session"), "{}", slow.stdout);
    // Where the machine is busy, the time was over before the check began.
    drop(fs::remove_file(project.outside("checking")));
    let running = project.ralph(["hook", "claude"]).input(claim()).start();
    project.wait_for("checking");
    project.ralph(["loop", "cancel", "--session", "s"]).command().output().unwrap();
    assert_eq!(running.wait().expect(0).stdout, "{}\n");
    assert_eq!(status(&project, "s")["outcome"], "cancelled");
}

// spec: H6
// fault: 116
#[test]
fn a_loop_can_be_cancelled_while_its_checks_run() {
    let project = Project::new();
    let ready = project.outside("checking").display().to_string();
    let start = start(&project, "s", &["--check", &format!("touch {ready}; sleep 600")]);
    start.env("RALPH_VERIFICATION_BASELINE", "false").output().expect(0);
    let running = project.ralph(["hook", "claude"]).input(stop("s", "<promise>DONE</promise>").to_string()).start();
    fs::write(project.outside("event"), stop("s", "<promise>DONE</promise>").to_string()).unwrap();
    project.wait_for("checking");
    let mut second = project.ralph(["hook", "claude"]).command();
    second.stdin(fs::File::open(project.outside("event")).unwrap());
    let second = second.output().unwrap();
    let second: Value = serde_json::from_slice(&second.stdout).unwrap();
    assert!(second["decision"].is_null(), "who comes second lets the session stop: {second}");
    assert!(second["systemMessage"].as_str().unwrap().contains("already handled"), "{second}");
    project.ralph(["loop", "cancel", "--session", "s"]).command().output().unwrap();
    assert_eq!(running.wait().expect(0).stdout, "{}\n");
    assert_eq!(status(&project, "s")["outcome"], "cancelled");
}

// finding: N25
// spec: S13
#[test]
fn a_continued_session_is_told_why_its_promise_did_not_count() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let answer = hook(&project, "claude", &stop("s", "I will not print <promise>DONE</promise> yet."));
    assert!(reason(&answer).contains("did not count as a claim: the sentence around the tag negates it"), "{answer}");
    assert!(!reason(&answer).contains("did not output"), "{answer}");
}

// spec: H6
#[test]
fn checks_that_exceed_the_hook_timeout_continue_with_the_next_stop() {
    let project = Project::new();
    let count = project.outside("count").display().to_string();
    let first = format!("echo x >> {count}");
    start(&project, "s", &["--check", &first, "--check", "test -f done.txt", "--check-timeout", "100s"])
        .output()
        .expect(0);
    project.write("done.txt", "");
    let claim = stop("s", "<promise>DONE</promise>").to_string();
    let call = |seconds: &str| {
        let answer = project.ralph(["hook", "claude", "--seconds", seconds]).input(claim.clone()).output().expect(0);
        serde_json::from_str::<Value>(&answer.stdout).unwrap()
    };
    let answer = call("60");
    assert!(reason(&answer).contains("[RALPH LOOP - STILL CHECKING]"), "{answer}");
    assert!(reason(&answer).contains("1 of 2 checks have passed"), "{answer}");
    assert_eq!(status(&project, "s")["iteration"], 1);
    let answer = call("60");
    assert!(answer["systemMessage"].as_str().unwrap().contains("Complete!"), "{answer}");
    assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 2, "it runs at the start and once for the claim");
}

/// Begins a loop with two checks, of which only the first fits into the time of a hook, and claims twice; `between` runs
/// after the first claim. Returns whether the loop is complete then.
fn is_complete_after(project: &Project, first: &str, between: impl FnOnce()) -> bool {
    let claim = stop("s", "<promise>DONE</promise>").to_string();
    let call = || {
        let answer = project.ralph(["hook", "claude", "--seconds", "60"]).input(claim.clone()).output().expect(0);
        serde_json::from_str::<Value>(&answer.stdout).unwrap()
    };
    start(project, "s", &["--check", first, "--check", "true", "--check-timeout", "100s"]).output().expect(0);
    let answer = call();
    assert!(reason(&answer).contains("1 of 2 checks have passed"), "{answer}");
    between();
    call()["systemMessage"].as_str().is_some_and(|printed| printed.contains("Complete!"))
}

// finding: N8
// spec: H6, V11
#[test]
fn a_check_that_passed_at_the_last_stop_counts_only_while_no_file_changes_and_in_the_same_loop() {
    let ignoring = || {
        let project = Project::new();
        project.write(".gitignore", "ignored-*\n");
        project.write("ignored-file", "good");
        project
    };
    let first = "grep -q good ignored-file";
    assert!(is_complete_after(&ignoring(), first, || {}), "what passed for these files holds");

    let project = ignoring();
    assert!(!is_complete_after(&project, first, || drop(project.write("ignored-file", "evil"))));

    let project = ignoring();
    let again = || {
        let checks = ["--check", first, "--check", "true", "--check-timeout", "100s", "--max-iterations", "7"];
        start(&project, "s", &checks).output().expect(0);
    };
    assert!(!is_complete_after(&project, first, again), "the first check of another loop has not run");

    let project = ignoring();
    let folder = project.home().join(".config/ralph");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), "verification: {cache: false}\n").unwrap();
    assert!(!is_complete_after(&project, first, || {}), "the user wants every check to run");

    let project = ignoring();
    fs::create_dir(project.root().join("inner")).unwrap();
    project.git(&["init", "--quiet", "inner"]);
    assert!(!is_complete_after(&project, first, || {}), "changes in a nested repository are not visible");
}

// spec: H6
#[test]
fn a_check_longer_than_the_hook_timeout_is_killed_and_reported() {
    let project = Project::new();
    start(&project, "s", &["--check", "sleep 600"]).env("RALPH_VERIFICATION_BASELINE", "false").output().expect(0);
    let call =
        project.ralph(["hook", "claude", "--seconds", "1"]).input(stop("s", "<promise>DONE</promise>").to_string());
    let answer: Value = serde_json::from_str(&call.output().expect(0).stdout).unwrap();
    assert!(reason(&answer).contains("longer than the hook timeout of the session"), "{answer}");
}

// spec: H6, L8
#[test]
fn the_time_of_a_loop_is_limited() {
    let project = Project::new();
    start(&project, "s", &["--max-duration", "1ms"]).output().expect(0);
    wait_until("a millisecond has passed", || {
        status(&project, "s")["startedAt"].as_str().is_some_and(|started| started < now().as_str())
    });
    let answer = hook(&project, "claude", &stop("s", "on it"));
    let message = answer["systemMessage"].as_str().unwrap();
    assert!(message.starts_with("Ralph Loop Stopped: the run has reached its time limit"), "{answer}");
    assert_eq!(status(&project, "s")["outcome"], "over_budget");
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}

// spec: G2
#[test]
fn the_configuration_has_the_defaults_of_loops_in_sessions() {
    let project = Project::new();
    fs::create_dir(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "session: { max_iterations: 3, promise: READY }\n");
    start(&project, "s", &[]).output().expect(0);
    let answer = status(&project, "s");
    assert_eq!((&answer["maxIterations"], &answer["completionPromise"]), (&json!(3), &json!("READY")));
    project.write(".ralph/config.yaml", "session: { enabled: false }\n");
    let refused = start(&project, "t", &[]).output().expect(1);
    assert!(refused.stderr.contains("session loops are disabled"), "{}", refused.stderr);
}

// spec: H6
#[test]
fn the_cap_of_a_host_is_reported_and_is_not_a_completion() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let mut last = Value::Null;
    for turn in 0..8 {
        let mut event = stop("s", "I have nothing more to say.");
        event["stop_hook_active"] = json!(turn > 0);
        last = hook(&project, "claude", &event);
    }
    assert!(last["systemMessage"].as_str().unwrap().contains("continued 8 times in a row"), "{last}");
    assert!(reason(&last).contains("unless you use a tool"), "{last}");
    let answer = status(&project, "s");
    assert_eq!((&answer["active"], &answer["iteration"], &answer["outcome"]), (&json!(true), &json!(9), &Value::Null));
}

// spec: H6
#[test]
fn a_session_that_uses_tools_gets_no_cap_warning() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let path = project.outside("transcript.jsonl");
    let line = |role: &str, content: Value| {
        format!("{}\n", json!({"type": role, "message": {"role": role, "content": content}}))
    };
    let turn = [
        line("user", json!("go on")),
        line("assistant", json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}])),
        line("user", json!([{"type": "tool_result", "tool_use_id": "t", "content": "ok"}])),
        line("assistant", json!([{"type": "text", "text": "on it"}])),
    ];
    for number in 0..10 {
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, before + &turn.concat()).unwrap();
        let mut event = stop("s", "on it");
        event["transcript_path"] = json!(path);
        event["stop_hook_active"] = json!(number > 0);
        let answer = hook(&project, "claude", &event);
        assert_eq!(answer["systemMessage"], format!("Ralph Loop: Iteration {}/100", number + 2));
        assert!(!reason(&answer).contains("unless you use a tool"), "{answer}");
    }
}
