//! Agents that use the Agent Client Protocol.
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Call, CallOutput, FAKE_AGENT, Project};

/// Prepares a loop with the scripted agent in the Agent Client Protocol, reported as JSON lines.
fn run<'a>(project: &'a Project, steps: &str) -> Call<'a> {
    let script = project.script(steps);
    let args = ["run", "do the work", "--agent", "acp", "--agent-cmd", FAKE_AGENT, "--promise", "COMPLETE"];
    project.ralph(args).args(["--agent-arg", "acp", "--agent-arg", &script, "--json"])
}

/// Returns the messages that the agent received, over all starts.
fn received_messages(project: &Project) -> Vec<Value> {
    let text = std::fs::read_to_string(project.outside("heard")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn methods(project: &Project) -> Vec<String> {
    let all = received_messages(project);
    all.iter().filter_map(|message| message["method"].as_str().map(str::to_owned)).collect()
}

fn result(answer: &CallOutput) -> Value {
    answer.events_named("attempt.ended").pop().unwrap()["result"].clone()
}

// spec: A1, L4, L10
#[test]
fn a_false_claim_is_rejected_and_the_session_continues_until_verified() {
    let project = Project::new();
    let steps = "say All done. {promise}\n---\nedit done.txt yes\nsay Now it is. {promise}\n";
    let answer = run(&project, steps).args(["--check", "grep -q yes done.txt"]).output().expect(0);
    let verdicts: Vec<Value> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"]);
    assert_eq!(result(&answer)["session"], "talk-1", "the second start continues the first session");
    let greeting = ["initialize", "session/new", "session/prompt"];
    let again = ["initialize", "session/resume", "session/prompt"];
    assert_eq!(methods(&project), [greeting, again].concat());
    let all = received_messages(&project);
    let opened = all.iter().find(|message| message["method"] == "session/new").unwrap();
    assert_eq!(opened["params"]["cwd"], project.root().canonicalize().unwrap().display().to_string());
    let prompt = all.iter().rfind(|message| message["method"] == "session/prompt").unwrap().to_string();
    assert!(prompt.contains("grep -q yes done.txt"), "the reason went back: {prompt}");
}

// spec: S2, L10
#[test]
fn a_promise_replayed_from_the_old_conversation_is_not_a_claim() {
    let project = Project::new();
    let steps = "offers load\nsay All done. {promise}\n---\noffers load\nsay There is more to do.\n";
    let call = run(&project, steps).args(["--check", "test $(wc -l < ../starts) = 2", "--max-iterations", "2"]);
    let answer = call.output().expect(3);
    assert_eq!(methods(&project)[4], "session/load");
    let claims: Vec<Value> =
        answer.events_named("claim").iter().map(|event| event["claim"]["claimed"].clone()).collect();
    assert_eq!(claims, [true, false], "{}", answer.stdout);
    assert_eq!(result(&answer)["final_text"], "There is more to do.");
}

// spec: S2, L10
#[test]
fn an_old_conversation_replayed_too_late_drops_the_session_and_makes_no_claim() {
    let project = Project::new();
    let late = "offers load\nlate\nsay There is more to do.\n";
    let steps = format!("offers load\nsay All done. {{promise}}\n---\n{late}---\n{late}");
    let call = run(&project, &steps).args(["--check", "false", "--max-iterations", "2", "--max-retries", "0"]);
    let answer = call.output().expect(3);
    let notes = answer.events_named("session.fresh");
    assert!(notes[0]["reason"].as_str().unwrap().contains("old and new messages cannot be separated"), "{notes:?}");
    let claims: Vec<Value> =
        answer.events_named("claim").iter().map(|event| event["claim"]["accepted"].clone()).collect();
    assert_eq!(claims, [true, false, false], "{}", answer.stdout);
    assert_eq!(methods(&project).last().unwrap(), "session/prompt");
    assert_eq!(project.starts().len(), 3, "the third start is fresh");
}

// spec: L10
#[test]
fn a_lost_session_and_an_agent_without_sessions_start_a_new_session() {
    let project = Project::new();
    let steps = "say More.\n---\nlose\n---\nsay Done. {promise}\n";
    let answer = run(&project, steps).args(["--max-retries", "0"]).output().expect(0);
    assert!(answer.events_named("session.fresh")[0]["reason"].as_str().unwrap().contains("Session not found: talk-1"));
    assert_eq!(answer.finished()["iterations"], 2);
    let project = Project::new();
    run(&project, "offers nothing\nsay More.\n---\noffers nothing\nsay Done. {promise}\n").output().expect(0);
    assert_eq!(project.starts().len(), 2, "a session that cannot be resumed is not resumed");
    assert_eq!(methods(&project).iter().filter(|method| *method == "session/new").count(), 2);
}

// spec: A6
#[test]
fn permission_requests_are_answered_from_the_permission_setting() {
    let steps = "permit read look\npermit edit change\npermit execute run\nask fs/read_text_file\nsay {promise}\n";
    let answers = |flags: &[&str]| {
        let project = Project::new();
        run(&project, steps).args(flags).output().expect(0);
        let all = received_messages(&project).into_iter().filter(|message| message["method"].is_null());
        all.map(|message| {
            let option = message["result"]["outcome"]["optionId"].as_str().map(str::to_owned);
            option.unwrap_or_else(|| message["error"]["code"].to_string())
        })
        .collect::<Vec<String>>()
    };
    assert_eq!(answers(&[]), ["yes", "yes", "no", "-32601"]);
    assert_eq!(answers(&["--permission", "edits"]), ["yes", "yes", "no", "-32601"]);
    assert_eq!(answers(&["--permission", "ask"]), ["no", "no", "no", "-32601"]);
    assert_eq!(answers(&["--permission", "full"]), ["yes", "yes", "yes", "-32601"]);
}

// spec: A6, U1
#[test]
fn granted_and_refused_permissions_are_shown_to_people() {
    let project = Project::new();
    let script = project.script("edit /etc/ralph-test no\npermit execute rm -rf /\nsay {promise}\n");
    let args = ["run", "x", "--agent", "acp", "--agent-cmd", FAKE_AGENT, "--promise", "COMPLETE"];
    let answer = project.ralph(args).args(["--agent-arg", "acp", "--agent-arg", &script]).output().expect(0);
    assert!(answer.stderr.contains("refused by permission `edits`: rm -rf /"), "{}", answer.stderr);
    assert!(answer.stderr.contains("refused by permission `edits`: Edit a file"), "{}", answer.stderr);
    assert!(answer.stderr.contains("requests to read, search and edit in the project"), "{}", answer.stderr);
    assert!(!std::path::Path::new("/etc/ralph-test").exists());
}

// spec: L12, A7
#[test]
fn ctrl_c_cancels_the_turn_first_and_leaves_nothing() {
    let project = Project::new();
    let running = run(&project, "say {promise}\nhang\n").start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(methods(&project).last().unwrap(), "session/cancel");
    assert_eq!(result(&answer)["ending"]["how"], "exited", "no signal was needed: {}", answer.stdout);
    assert_eq!(answer.events_named("claim").last().unwrap()["claim"]["accepted"], false);
}

// spec: L12, A7
#[test]
fn an_agent_that_ignores_a_cancellation_gets_the_signal_within_the_same_grace() {
    let project = Project::new();
    let running = run(&project, "deaf\n").args(["--grace", "4s"]).start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(result(&answer)["ending"]["how"], "signalled", "{}", answer.stdout);
}

// spec: L7, A7
#[test]
fn an_agent_that_stays_after_its_answer_is_ended_and_its_work_counts() {
    let project = Project::new();
    let call = run(&project, "say Done. {promise}\nstay\n").args(["--after-result", "300ms"]);
    let answer = call.output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert_eq!(result(&answer)["ending"]["how"], "signalled", "{}", answer.stdout);
}

// spec: A5, L5
#[test]
fn output_that_is_not_protocol_is_reported_and_never_waited_for() {
    let table = [
        ("garbage hello there\n", "answered initialize (does the program speak the Agent Client Protocol"),
        ("garbage {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", "reported no version of the Agent Client Protocol"),
        ("version 7\n", "speaks version 7 of the Agent Client Protocol, but ralph speaks version 1"),
        ("exit 0\n", "exited before it answered session/prompt"),
        ("error 401 no key\n", "no key"),
        ("error -32603 Internal error: it broke\n", "it broke"),
        ("tell Error: Last error: 401 Unauthorized\n", "401 Unauthorized"),
        ("stop refusal\n", "refused to continue"),
        ("say {promise}\nstop max_tokens\n", "cut off at the token limit"),
    ];
    for (steps, words) in table {
        let project = Project::new();
        let answer = run(&project, steps).args(["--max-retries", "0"]).output().expect(4);
        let reason = answer.finished()["reason"].to_string();
        assert!(reason.contains(words), "{steps}: {reason}");
    }
}

// finding: N73
// spec: A4, L5
#[test]
fn a_program_that_dies_at_once_is_reported_with_its_stderr() {
    let project = Project::new();
    let program = project.outside("dies.sh");
    std::fs::write(&program, "#!/bin/sh\necho 'fatal: no workspace configured' >&2\nexit 3\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let call = project.ralph(["run", "x", "--json", "--agent", "acp", "--max-retries", "0", "--agent-cmd"]);
    let answer = call.args([program.to_str().unwrap()]).output().expect(4);
    let reason = answer.finished()["reason"].to_string();
    assert!(reason.contains("the agent exited before it answered initialize"), "{reason}");
    assert!(reason.contains("fatal: no workspace configured"), "{reason}");
}

// spec: L7, A5
#[test]
fn an_agent_that_never_answers_is_stopped_for_its_silence() {
    let project = Project::new();
    let call = run(&project, "mute\n").args(["--idle-timeout", "500ms", "--max-iterations", "1"]);
    let answer = call.output().expect(3);
    assert_eq!(answer.events_named("iteration.ended")[0]["status"], "timed_out");
}

// spec: A1, L7
#[test]
fn an_agent_that_opens_no_session_in_time_fails_with_the_missing_response() {
    let project = Project::new();
    let call = run(&project, "mute\n").args(["--max-retries", "0"]);
    let answer = call.env("RALPH_LIMITS_HANDSHAKE_TIMEOUT", "500ms").output().expect(4);
    assert_eq!(answer.events_named("stop.requested")[0]["reason"], "the agent did not open a session in time");
    let reason = answer.finished()["reason"].to_string();
    assert!(reason.contains("before it answered initialize (does the program speak"), "{reason}");
    let slow = run(&project, "hang\n").args(["--max-retries", "0", "--timeout", "3s"]);
    let slow = slow.args(["--max-iterations", "1"]).env("RALPH_LIMITS_HANDSHAKE_TIMEOUT", "1s").output();
    let stops = slow.expect(3).events_named("stop.requested");
    assert_eq!(stops[0]["reason"], "the iteration took too long", "what comes after it has its own time");
}

// spec: A5
#[test]
fn a_program_that_echoes_its_input_is_not_an_agent() {
    let project = Project::new();
    let args = ["run", "x", "--agent", "acp", "--agent-cmd", "cat", "--json", "--max-retries", "0"];
    let answer = project.ralph(args).timeout(Duration::from_secs(120)).output().expect(4);
    assert!(answer.finished()["reason"].to_string().contains("refused initialize"), "{}", answer.stdout);
}

// spec: A1
#[test]
fn the_program_must_be_named() {
    let project = Project::new();
    let answer = project.ralph(["run", "x", "--agent", "acp"]).output();
    assert!(answer.stderr.contains("--agent-cmd"), "{}", answer.stderr);
    assert_ne!(answer.code(), 0);
}

// spec: L8, L10
#[test]
fn the_cost_of_a_session_is_counted_once() {
    let project = Project::new();
    let steps = "cost 0.25\nsay More.\n---\ncost 0.75\nsay Done. {promise}\n";
    let answer = run(&project, steps).output().expect(0);
    let costs: Vec<Value> =
        answer.events_named("attempt.ended").iter().map(|event| event["result"]["cost_usd"].clone()).collect();
    assert_eq!(costs, [0.25, 0.5], "{}", answer.stdout);
}

// spec: A3, A4
#[test]
fn a_prompt_and_answers_of_any_size_pass_both_ways() {
    let project = Project::new();
    let prompt = project.write("task.md", "wörds ".repeat(300_000));
    let script = project.script(&format!("say {}{{promise}}\n", "talk. ".repeat(20_000) + "\\n\\n"));
    let args = ["run", &format!("@{}", prompt.display()), "--agent", "acp", "--agent-cmd", FAKE_AGENT, "--json"];
    let call = project.ralph(args).args(["--promise", "COMPLETE", "--agent-arg", "acp", "--agent-arg", &script]);
    call.output().expect(0);
    let all = received_messages(&project);
    let printed = all.last().unwrap()["params"]["prompt"][0]["text"].as_str().unwrap().len();
    assert!(printed > 300_000 * 7, "{printed}");
}
