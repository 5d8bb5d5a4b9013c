//! Transcripts that still end with an earlier turn when the hook is called: only words after the last stop count.
use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::hooks::{hook, stop};
use crate::harness::Project;

fn append(path: &Path, record: &Value) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "{record}").unwrap();
}

fn begin(project: &Project, host: &str) {
    let start = ["loop", "start", "--host", host, "--prompt", "Make done.txt", "--session", "s"];
    project.ralph(start).args(["--check", "test -f done.txt"]).output().expect(0);
}

// spec: H1, H9, S2
// finding: N67
#[test]
fn a_claim_of_an_earlier_turn_is_not_checked_again_while_the_transcript_is_old() {
    let project = Project::new();
    begin(&project, "claude");
    let transcript = project.outside("transcript.jsonl");
    let claim = json!({"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": "Done. <promise>DONE</promise>"}});
    append(&transcript, &json!({"type": "user", "message": {"role": "user", "content": "Make done.txt"}}));
    append(&transcript, &claim);
    let turn = |id: &str| {
        let mut event = stop("s", "");
        event["transcript_path"] = json!(transcript);
        event["prompt_id"] = json!(id);
        event["stop_hook_active"] = json!(id != "p1");
        hook(&project, "claude", &event)
    };
    assert!(turn("p1")["reason"].as_str().unwrap().contains("was rejected"));
    project.write("done.txt", "");
    append(&transcript, &json!({"type": "system", "content": "hook feedback"}));
    let answer = turn("p2");
    assert!(answer["reason"].as_str().unwrap().contains("did not output the completion promise"), "{answer}");
    append(&transcript, &claim);
    assert!(turn("p3")["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Complete!"));
}

// spec: H1, H9
// finding: N67
#[test]
fn words_from_before_the_start_of_the_loop_do_not_count_at_its_first_stop() {
    let project = Project::new();
    let transcript = project.outside("transcript.jsonl");
    let claim = |id: &str| json!({"type": "assistant", "message": {"id": id, "role": "assistant", "content": "Sure. <promise>DONE</promise>"}});
    append(&transcript, &json!({"type": "user", "message": {"role": "user", "content": "Say the words."}}));
    append(&transcript, &claim("m1"));
    let prompt = json!({
        "session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": project.root(),
        "transcript_path": transcript, "prompt": "/ralph \"Write it\""
    });
    hook(&project, "claude", &prompt);
    let turn = |id: &str| {
        let mut event = stop("s", "");
        event["transcript_path"] = json!(transcript);
        event["prompt_id"] = json!(id);
        hook(&project, "claude", &event)
    };
    let answer = turn("p1");
    assert!(answer["reason"].as_str().unwrap().contains("did not output the completion promise"), "{answer}");
    append(&transcript, &claim("m2"));
    assert!(turn("p2")["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Complete!"));
}

// spec: H1, H9
// finding: N68
#[test]
fn a_message_that_qwen_drops_because_it_is_identical_is_read_from_the_transcript_once_it_is_there() {
    let project = Project::new();
    begin(&project, "qwen");
    let chat = project.outside("chat.jsonl");
    let claim = "Done. <promise>DONE</promise>";
    let line = |kind: &str, id: &str, text: &str| {
        append(&chat, &json!({"uuid": id, "type": kind, "message": {"parts": [{"text": text}]}}));
    };
    let turn = |is_continued: bool| {
        let mut event = stop("s", claim);
        event["transcript_path"] = json!(chat);
        event["stop_hook_active"] = json!(is_continued);
        hook(&project, "qwen", &event)
    };
    line("user", "u1", "Make done.txt");
    line("assistant", "a1", claim);
    assert!(turn(false)["reason"].as_str().unwrap().contains("was rejected"));
    project.write("done.txt", "");
    line("system", "x1", "hook");
    let stale = turn(true);
    assert!(stale["reason"].as_str().unwrap().contains("did not output the completion promise"), "{stale}");
    line("user", "u2", "[RALPH LOOP …");
    line("assistant", "a2", claim);
    assert!(turn(true)["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Complete!"));
}
