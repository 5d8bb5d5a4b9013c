//! Commands in Copilot's interactive screen, as hook payloads that were recorded with Copilot 1.0.102. Only folders and
//! the path of ralph were replaced.
use serde_json::Value;

use crate::harness::Project;
use crate::sessions::hooks::{hook, status};

const START: &str = include_str!("../data/copilot_hooks/start.json");
const START_WITHOUT_ARGUMENTS: &str = include_str!("../data/copilot_hooks/start_without_arguments.json");
const STATUS: &str = include_str!("../data/copilot_hooks/status.json");
const CANCEL: &str = include_str!("../data/copilot_hooks/cancel.json");

/// The session of the recordings.
const SESSION: &str = "beda45c6-2409-4720-8a51-3a022bb4826f";

fn recorded_event(project: &Project, payload: &str) -> Value {
    let mut event: Value = serde_json::from_str(payload).unwrap();
    event["cwd"] = Value::from(project.root().to_str().unwrap());
    event
}

// finding: N65
// spec: H1, H2
#[test]
fn the_commands_work_although_the_screen_expands_their_skills_first() {
    let project = Project::new();
    let send = |payload| hook(&project, "copilot", &recorded_event(&project, payload));
    let context = send(START)["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    assert!(context.contains("iteration 1 of at most 2"), "{context}");
    let active = status(&project, SESSION);
    assert_eq!((&active["active"], &active["prompt"]), (&Value::from(true), &Value::from("Make a file out.txt")));
    assert!(active.to_string().contains("test -f out.txt"), "{active}");
    let answer = send(STATUS).to_string();
    assert!(answer.contains("iteration 1/2"), "{answer}");
    send(CANCEL);
    let cancelled = status(&project, SESSION);
    assert_eq!((&cancelled["active"], &cancelled["outcome"]), (&Value::from(false), &Value::from("cancelled")));
}

// finding: N65
#[test]
fn a_start_without_a_task_says_what_is_missing_and_starts_nothing() {
    let project = Project::new();
    let answer = hook(&project, "copilot", &recorded_event(&project, START_WITHOUT_ARGUMENTS)).to_string();
    assert!(answer.contains("task"), "{answer}");
    assert_eq!(status(&project, SESSION), Value::Null);
}

// finding: N65
// spec: X1
#[test]
fn a_prompt_that_quotes_an_expanded_skill_starts_nothing() {
    let project = Project::new();
    let mut event = recorded_event(&project, START);
    event["prompt"] = Value::from(format!("What does this mean? {}", event["prompt"].as_str().unwrap()));
    assert_eq!(hook(&project, "copilot", &event), serde_json::json!({}));
    assert_eq!(status(&project, SESSION), Value::Null);
}
