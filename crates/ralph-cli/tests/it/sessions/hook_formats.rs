//! The hook events and replies of each host, in the formats of the real programs.
use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Project, wait_until};
use crate::sessions::hooks::{hook, start, status, stop};

fn begin(project: &Project, host: &str, more: &[&str]) {
    let usual = ["loop", "start", "--session", "s", "--prompt", "Make done.txt", "--host", host];
    project.ralph(usual).args(more).output().expect(0);
}

fn append(path: &Path, record: &Value) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{record}").unwrap();
}

// spec: H1
#[test]
fn codex_is_continued_by_a_block_and_its_rollout_is_read_if_the_event_has_no_message() {
    let project = Project::new();
    begin(&project, "codex", &[]);
    let rollout = project.outside("rollout.jsonl");
    let event = json!({
        "session_id": "s", "turn_id": "t1", "transcript_path": rollout, "cwd": "/", "hook_event_name": "Stop", "model": "gpt-5.5",
        "permission_mode": "bypassPermissions", "stop_hook_active": false, "last_assistant_message": "I think I am done."
    });
    let answer = hook(&project, "codex", &event);
    assert_eq!(answer["decision"], "block");
    assert!(answer["reason"].as_str().unwrap().contains("ITERATION 2/100"), "{answer}");
    let item = |role: &str, kind: &str, text: &str| json!({"type": "response_item", "payload": {"type": "message", "role": role, "id": role, "content": [{"type": kind, "text": text}]}});
    append(&rollout, &item("user", "input_text", "<hook_prompt>go on <promise>DONE</promise></hook_prompt>"));
    append(&rollout, &json!({"type": "response_item", "payload": {"type": "function_call", "name": "exec_command"}}));
    append(&rollout, &item("assistant", "output_text", "Done. <promise>DONE</promise>"));
    append(&rollout, &json!({"type": "event_msg", "payload": {"type": "token_count"}}));
    let mut unsaid = event.clone();
    unsaid["last_assistant_message"] = Value::Null;
    let answer = hook(&project, "codex", &unsaid);
    let notice = "Ralph Loop Complete! Task completed after 2 iteration(s): nothing was verified, only the agent's word supports it";
    assert_eq!(answer, json!({ "systemMessage": notice }));
}

// spec: H5, H6
// fault: 113
#[test]
fn the_same_message_in_the_same_turn_is_another_stop_if_the_stop_has_no_id() {
    let project = Project::new();
    for host in ["codex", "claude"] {
        begin(&project, host, &[]);
        let event = json!({
            "session_id": "s", "turn_id": "t1", "transcript_path": null, "cwd": "/", "hook_event_name": "Stop",
            "stop_hook_active": true, "last_assistant_message": "Still working."
        });
        for turn in 2..5 {
            let answer = hook(&project, host, &event);
            let expected = format!("ITERATION {turn}/100");
            assert!(answer["reason"].as_str().is_some_and(|reason| reason.contains(&expected)), "{answer}");
        }
    }
}

// spec: H1
#[test]
fn gemini_is_read_from_its_transcript_because_its_event_repeats_old_messages() {
    let project = Project::new();
    begin(&project, "gemini", &["--check", "test -f done.txt"]);
    let chat = project.outside("session-2026.jsonl");
    let say = |kind: &str, id: &str, text: &str| {
        append(&chat, &json!({"id": id, "type": kind, "content": text, "timestamp": "2026-11-15T19:00:00Z"}));
    };
    let event = |response: &str, is_continued: bool| {
        json!({
            "session_id": "s", "transcript_path": chat, "cwd": "/", "hook_event_name": "AfterAgent", "timestamp": "x", "prompt": "Make done.txt",
            "prompt_response": response, "stop_hook_active": is_continued
        })
    };
    say("user", "u1", "Make done.txt");
    say("gemini", "g1", "Done.");
    say("gemini", "g1", "Done. <promise>DONE</promise>");
    let answer = hook(&project, "gemini", &event("DoneDone. <promise>DONE</promise>", false));
    assert_eq!(answer["decision"], "deny", "{answer}");
    assert!(answer["reason"].as_str().unwrap().contains("rejected: `test -f done.txt`"), "{answer}");
    say("user", "u2", "[RALPH LOOP …");
    say("gemini", "g2", "I look into it.");
    project.write("done.txt", "");
    let garbled = "DoneDone. <promise>DONE</promise>I look I look into it.";
    let answer = hook(&project, "gemini", &event(garbled, true));
    assert!(answer["reason"].as_str().unwrap().contains("did not output the completion promise"), "{answer}");
    say("user", "u3", "[RALPH LOOP …");
    say("gemini", "g3", "Now it is done. <promise>DONE</promise>");
    let answer = hook(&project, "gemini", &event(&format!("{garbled}Now…"), true));
    assert!(answer["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Complete!"), "{answer}");
}

// spec: H1
#[test]
fn a_prompt_that_gemini_reports_starts_or_cancels_a_loop() {
    let project = Project::new();
    let says = |prompt: &str| {
        let event =
            json!({"session_id": "s", "cwd": project.root(), "hook_event_name": "BeforeAgent", "prompt": prompt});
        hook(&project, "gemini", &event)
    };
    let answer = says("<ralph-command name=\"ralph\">\n'Fix it' --max-iterations 3\n</ralph-command>\nWork on it.");
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "BeforeAgent");
    assert_eq!(
        (&status(&project, "s")["prompt"], &status(&project, "s")["maxIterations"]),
        (&json!("Fix it"), &json!(3))
    );
    assert_eq!(says("/cancel-ralph")["decision"], "deny");
}

// spec: H1
#[test]
fn qwen_repeats_old_messages_and_only_new_ones_count() {
    let project = Project::new();
    begin(&project, "qwen", &["--check", "test -f done.txt"]);
    let event = |message: &str, is_continued: bool| {
        let mut event = stop("s", message);
        event["stop_hook_active"] = json!(is_continued);
        event["context_usage"] = json!({"used": 7});
        event
    };
    let first = "Finished. <promise>DONE</promise>";
    let answer = hook(&project, "qwen", &event(first, false));
    assert!(answer["reason"].as_str().unwrap().contains("rejected"), "{answer}");
    let second = format!("{first}Still working.");
    let answer = hook(&project, "qwen", &event(&second, true));
    assert!(answer["reason"].as_str().unwrap().contains("did not output the completion promise"), "{answer}");
    project.write("done.txt", "");
    let answer =
        hook(&project, "qwen", &event(&format!("{second}The work is finished. <promise>DONE</promise>"), true));
    assert!(answer["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Complete!"), "{answer}");
}

// spec: H6
#[test]
fn qwen_is_warned_with_the_last_continuation_below_its_cap() {
    let turns = |cap: &str, most: i32| -> Vec<bool> {
        let project = Project::new();
        begin(&project, "qwen", &[]);
        let turn = |turn: i32| {
            let mut event = stop("s", &"on it ".repeat(usize::try_from(turn).unwrap()));
            event["stop_hook_active"] = json!(turn > 1);
            let call = project.ralph(["hook", "qwen"]).env("QWEN_CODE_STOP_HOOK_BLOCK_CAP", cap);
            let printed = call.input(event.to_string()).output().expect(0).stdout;
            printed.contains(&format!("was continued {turn} times in a row, which is the limit"))
        };
        (1..=most).map(turn).collect()
    };
    assert_eq!(turns("", 7), [false, false, false, false, false, false, true]);
    assert_eq!(turns("3", 2), [false, true]);
}

// spec: H1, H6, H9
#[test]
fn qwen_is_read_from_its_transcript_if_the_event_has_no_message_and_its_tokens_count() {
    let project = Project::new();
    begin(&project, "qwen", &["--check", "test -f done.txt"]);
    let chat = project.outside("chat.jsonl");
    let line = |kind: &str, id: &str, parts: Value| {
        let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 7, "totalTokenCount": 107});
        append(
            &chat,
            &json!({"uuid": id, "type": kind, "timestamp": "2999-01-01T00:00:00.000Z", "message": {"parts": parts}, "usageMetadata": usage}),
        );
    };
    let stopped = || {
        let mut event = stop("s", "");
        event["transcript_path"] = json!(chat);
        hook(&project, "qwen", &event)
    };
    line("user", "u1", json!([{"text": "Make done.txt <promise>DONE</promise>"}]));
    line(
        "assistant",
        "a1",
        json!([{"text": "Working. "}, {"text": "All is done.\n<promise>DONE</promise>", "thought": true}]),
    );
    let unsaid = || {
        let answer = stopped();
        let reason = answer["reason"].as_str().unwrap();
        assert!(reason.contains("did not output the completion promise"), "{answer}");
    };
    unsaid();
    let claim = json!([{"text": "Done. <promise>DONE</promise>"}]);
    line("user", "u2", json!([{"text": "[RALPH LOOP …"}]));
    line("assistant", "a2", claim.clone());
    assert!(stopped()["reason"].as_str().unwrap().contains("was rejected"));
    line("user", "u3", json!([{"text": "[RALPH LOOP …"}]));
    line("assistant", "a3", json!([{"functionCall": {"name": "edit"}}]));
    line("tool_result", "t3", json!([{"functionResponse": {"output": "<promise>DONE</promise>"}}]));
    unsaid();
    project.write("done.txt", "");
    line("user", "u4", json!([{"text": "[RALPH LOOP …"}]));
    line("assistant", "a4", claim);
    assert!(stopped()["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Complete!"));
    let reply = status(&project, "s");
    assert_eq!((&reply["input_tokens"], &reply["output_tokens"]), (&json!(900), &json!(63)), "{reply}");
}

// spec: H1
#[test]
fn copilot_names_no_event_and_its_message_is_in_the_events_of_its_session() {
    let project = Project::new();
    begin(&project, "copilot", &[]);
    let events = project.outside("events.jsonl");
    let event = json!({
        "sessionId": "s", "timestamp": 1, "cwd": "/", "transcriptPath": events, "stopReason": "end_turn", "stop_hook_active": false
    });
    append(&events, &json!({"type": "user.message", "data": {"content": "Make done.txt <promise>DONE</promise>"}}));
    append(&events, &json!({"type": "assistant.message", "data": {"content": "", "toolRequests": [{}]}}));
    append(&events, &json!({"type": "tool.execution_complete", "data": {"result": "<promise>DONE</promise>"}}));
    append(
        &events,
        &json!({"type": "assistant.message", "data": {"content": "<promise>DONE</promise>", "parentToolCallId": "c1"}}),
    );
    append(&events, &json!({"type": "assistant.message", "data": {"content": "Working."}}));
    append(&events, &json!({"type": "assistant.turn_end", "data": {}}));
    let answer = hook(&project, "copilot", &event);
    assert_eq!(answer["decision"], "block", "{answer}");
    append(&events, &json!({"type": "user.message", "data": {"content": "[RALPH LOOP …"}}));
    append(&events, &json!({"type": "assistant.message", "data": {"content": "Done. <promise>DONE</promise>"}}));
    let answer = hook(&project, "copilot", &event);
    assert!(answer["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Complete!"), "{answer}");
    let prompt = json!({"sessionId": "s", "timestamp": 1, "cwd": project.root(), "prompt": "/ralph 'Fix it'"});
    hook(&project, "copilot", &prompt);
    assert_eq!(status(&project, "s")["prompt"], "Fix it");
}

// spec: H1, H5, H7
#[test]
fn opencode_receives_the_text_to_inject_and_to_show() {
    let project = Project::new();
    begin(&project, "opencode", &["--max-iterations", "9"]);
    let tell = |event: Value| hook(&project, "opencode", &event);
    let idle = |message: &str| tell(json!({"event": "idle", "session_id": "s", "cwd": "/", "last_message": message}));
    let answer = idle("Working.");
    assert_eq!(answer["action"], "continue");
    assert!(answer["prompt"].as_str().unwrap().starts_with("[RALPH LOOP - ITERATION 2/9]"), "{answer}");
    assert_eq!(
        answer["toast"],
        json!({"title": "Ralph Loop", "message": "Iteration 2/9", "variant": "info", "duration": 2000})
    );
    tell(json!({"event": "error", "session_id": "s", "error": {"name": "APIError"}}));
    let answer = idle("Working.");
    assert_eq!(answer["action"], "stop", "the session may recover by itself: {answer}");
    assert!(answer["toast"]["message"].as_str().unwrap().contains("may recover by itself"), "{answer}");
    tell(json!({"event": "error", "session_id": "s", "error": {"name": "MessageAbortedError"}}));
    assert_eq!(status(&project, "s")["outcome"], "cancelled");
    begin(&project, "opencode", &[]);
    let answer = idle("<promise>DONE</promise>");
    assert_eq!((&answer["action"], &answer["toast"]["title"]), (&json!("stop"), &json!("Ralph Loop Complete!")));
    begin(&project, "opencode", &[]);
    assert_eq!(tell(json!({"event": "deleted", "session_id": "s"})), json!({"action": "stop"}));
    assert_eq!(status(&project, "s")["active"], false);
}

// spec: H3, H5
#[test]
fn a_loop_that_is_cancelled_before_the_prompt_is_injected_is_not_continued() {
    let project = Project::new();
    let delay = ("RALPH_SESSION_CONTINUATION_DELAY", "10m");
    let usual = ["loop", "start", "--session", "s", "--prompt", "x", "--host", "opencode"];
    project.ralph(usual).env(delay.0, delay.1).output().expect(0);
    let event = json!({"event": "idle", "session_id": "s", "cwd": "/", "last_message": "Working."});
    let running = project.ralph(["hook", "opencode"]).input(event.to_string()).start();
    let look = || project.ralph(["loop", "status", "--json", "--session", "s"]).command().output().unwrap().stdout;
    wait_until("the stop is counted", || {
        let printed: Value = serde_json::from_slice(&look()).unwrap();
        printed[0]["iteration"] == 2
    });
    project.ralph(["loop", "cancel", "--session", "s"]).command().output().unwrap();
    assert_eq!(running.wait().expect(0).json(), json!({"action": "stop"}));
}

// spec: H5
#[test]
fn an_error_of_a_claude_session_suspends_its_loop_for_a_while() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let failure = json!({"session_id": "s", "cwd": "/", "hook_event_name": "StopFailure", "error": "server_error", "last_assistant_message": "API Error"});
    assert_eq!(hook(&project, "claude", &failure), json!({}));
    let answer = status(&project, "s");
    assert_eq!((&answer["active"], &answer["iteration"]), (&json!(true), &json!(1)));
    for event in ["SessionStart", "SessionEnd", "PreToolUse", "SubagentStop"] {
        assert_eq!(hook(&project, "claude", &json!({"session_id": "s", "hook_event_name": event})), json!({}));
    }
    assert_eq!(status(&project, "s"), answer, "a session can be resumed after its end, and its loop with it");
}

// spec: H6, L8
#[test]
fn tokens_count_if_the_transcript_has_them() {
    let project = Project::new();
    start(&project, "s", &["--max-tokens", "300"]).output().expect(0);
    let path = project.outside("transcript.jsonl");
    let turn = |id: &str| {
        let usage = json!({"input_tokens": 100, "output_tokens": 7});
        let message =
            json!({"id": id, "role": "assistant", "content": [{"type": "text", "text": "Working."}], "usage": usage});
        append(&path, &json!({"type": "assistant", "timestamp": "2999-01-01T00:00:00.000Z", "message": message}));
        let mut event = stop("s", "Working.");
        event["transcript_path"] = json!(path);
        hook(&project, "claude", &event)
    };
    assert_eq!(turn("m1")["decision"], "block");
    assert_eq!(turn("m2")["decision"], "block");
    let reply = status(&project, "s");
    assert_eq!(
        (&reply["input_tokens"], &reply["output_tokens"], &reply["cost_usd"]),
        (&json!(200), &json!(14), &Value::Null)
    );
    let answer = turn("m3");
    assert!(answer["systemMessage"].as_str().unwrap().contains("321 of 300 tokens used"), "{answer}");
    assert_eq!(status(&project, "s")["outcome"], "over_budget");
}

// spec: H6, L9
#[test]
fn a_loop_without_changes_ends_if_configured() {
    let project = Project::new();
    start(&project, "s", &[]).env("RALPH_STALL_ITERATIONS", "2").output().expect(0);
    let stops = || hook(&project, "claude", &stop("s", "Thinking."));
    project.write("a", "1");
    assert_eq!(stops()["decision"], "block", "something has changed");
    assert_eq!(stops()["decision"], "block", "nothing has changed once");
    assert!(stops()["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Stopped"), "nothing has changed twice");
    assert_eq!(status(&project, "s")["outcome"], "stalled");
}
