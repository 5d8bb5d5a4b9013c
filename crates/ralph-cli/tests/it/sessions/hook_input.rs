//! Unexpected hook input: nothing is guessed, and no loop ends.
use std::fs;

use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::harness::Project;
use crate::sessions::hooks::{hook, start, status, stop};

fn prompt(text: &str) -> Value {
    json!({"session_id": "s", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": text})
}

fn asked(project: &Project, text: &str) -> Value {
    let mut event = prompt(text);
    event["cwd"] = json!(project.root());
    hook(project, "claude", &event)
}

// spec: H2, H7, V2
#[test]
fn an_incomplete_check_starts_no_loop_and_a_complete_one_is_shown() {
    let project = Project::new();
    for (words, why) in [
        ("fix it --check cargo test", "the task has words before and after --check"),
        ("fix it --check \"cargo test", "not closed"),
        ("fix it --check “cargo test”", "typographic"),
        ("fix it —check \"cargo test\"", "two dashes"),
        ("\"fix it --check \"cargo test\"", "which one closes the task"),
    ] {
        let answer = asked(&project, &format!("/ralph {words}"));
        assert_eq!(answer["decision"], "block", "{answer}");
        let reason = answer["reason"].as_str().unwrap();
        assert!(reason.contains(why) && reason.contains("\nhint: "), "{reason}");
        assert!(status(&project, "s").is_null(), "{words}");
    }
    let answer = asked(&project, "/ralph fix it --check \"test -f a\" --check 'test -f \"b c\"'");
    let printed = answer["systemMessage"].as_str().unwrap();
    assert!(printed.ends_with("</promise>, checked by `test -f a` and `test -f \"b c\"`"), "{printed}");
    assert_eq!(status(&project, "s")["prompt"], "fix it");
}

// spec: H8, H9
// fault: 108
#[test]
fn redundant_keys_or_broken_characters_in_an_event_end_no_loop() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let usual = stop("s", "on it").to_string();
    let usual = usual.trim_end_matches('}');
    let events = [
        format!("{usual},\"sessionId\":\"s\",\"event\":\"x\",\"hookEventName\":\"y\"}}").into_bytes(),
        format!("{usual},\"turn_id\":\"t\",\"message_id\":\"m\",\"session_id\":\"s\"}}").into_bytes(),
        format!("{usual},\"more\":\"\\ud83d\"}}").into_bytes(),
        usual.replace("on it", "on it \\ud83d").into_bytes().into_iter().chain(*b"}").collect(),
        [usual.as_bytes(), b",\"more\":\"\xe4\"}"].concat(),
    ];
    for (turn, event) in events.into_iter().enumerate() {
        let answer = project.ralph(["hook", "claude"]).input(event).output().expect(0).stdout;
        assert!(answer.contains(&format!("ITERATION {}/100", turn + 2)), "{answer}");
    }
    let claim = stop("s", "Done \u{1f600}: <promise>DONE</promise>").to_string();
    let claim = claim.replace('\u{1f600}', "\\ude00");
    let answer = project.ralph(["hook", "claude"]).input(claim).output().expect(0).stdout;
    assert!(answer.contains("Ralph Loop Complete!"), "{answer}");
}

// spec: H8, H9
// fault: 109
#[test]
fn a_transcript_that_is_a_pipe_does_not_block_the_hook() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let pipe = project.outside("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let mut event = stop("s", "");
    event["transcript_path"] = json!(pipe);
    let answer = hook(&project, "claude", &event);
    assert!(answer["reason"].as_str().unwrap().contains("ITERATION 2/100"), "{answer}");
    let log = fs::read_to_string(project.home().join(".local/state/ralph/sessions/hook.log")).unwrap();
    assert!(log.contains("cannot be read: not a regular file"), "{log}");
}

// spec: H6, H8
#[test]
fn checks_run_whatever_timeout_the_host_reports() {
    let project = Project::new();
    start(&project, "s", &["--check", "true"]).output().expect(0);
    let claim = stop("s", "Done. <promise>DONE</promise>").to_string();
    let call = project.ralph(["hook", "claude", "--seconds", "18446744073709551615"]);
    let answer = call.input(claim).output().expect(0);
    assert!(answer.stdout.contains("Ralph Loop Complete!"), "{} {}", answer.stdout, answer.stderr);
}
