//! Hooks that are called twice for one event, because they are installed for the user and for the project.
use serde_json::{Value, json};

use crate::harness::Project;
use crate::sessions::hooks::{hook, status, stop};

/// The user's prompt, as most programs tell of it.
fn prompt(words: &str) -> Value {
    json!({ "session_id": "s", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": words })
}

fn call_hook_twice(stdout: &str) -> String {
    let answer: Value = serde_json::from_str(stdout).unwrap();
    assert!(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("Do it"), "{answer}");
    answer["systemMessage"].as_str().unwrap().to_owned()
}

// spec: H4
// fault: 113
#[test]
fn one_prompt_reported_to_two_hooks_starts_one_loop() {
    let words = prompt("/ralph \"Do it\" --max-iterations 3").to_string();
    for host in ["claude", "codex", "qwen", "copilot"] {
        let project = Project::new();
        let call = || project.ralph(["hook", host]).input(words.as_str());
        let both = [call().start(), call().start()];
        let answer = both.map(|running| call_hook_twice(&running.wait().expect(0).stdout));
        assert!(answer.iter().all(|answer| answer.starts_with("Ralph Loop Started: Max 3 iterations")), "{answer:?}");
        let first = status(&project, "s");
        assert!(call_hook_twice(&call().output().expect(0).stdout).starts_with("Ralph Loop Started"), "{host}");
        assert_eq!(status(&project, "s"), first, "{host}");
    }
}

// spec: H4
#[test]
fn another_prompt_starts_another_loop_even_immediately() {
    let project = Project::new();
    hook(&project, "claude", &prompt("/ralph \"Do it\" --max-iterations 3"));
    let other = hook(&project, "claude", &prompt("/ralph \"Do it\" --max-iterations 4"));
    assert!(other["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Replaced"), "{other}");
    assert_eq!(status(&project, "s")["maxIterations"], 4);
    hook(&project, "claude", &stop("s", "on it"));
    let again = hook(&project, "claude", &prompt("/ralph \"Do it\" --max-iterations 4"));
    assert!(again["systemMessage"].as_str().unwrap().contains("at iteration 2/4 was replaced"), "{again}");
}
