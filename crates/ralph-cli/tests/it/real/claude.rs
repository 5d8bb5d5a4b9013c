//! Claude Code.
use std::process::Command;

use serde_json::{Value, json};

use super::in_session::{GREET, Host, greeted, greeting, sessions, words};
use super::scene::{Needs, Real, Scene, Sessions, Set};
use super::{stories, tests};

const CLAUDE: Real = Real {
    name: "claude",
    set: Set::Usual,
    program: "@anthropic-ai/claude-code-{platform}/claude",
    settle,
    sessions: Sessions::In(".claude/projects"),
    needs: Needs::Nothing,
};

/// Without the four switches it looks for its vendor's hosts.
fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    let on = || "1".to_owned();
    vec![
        ("ANTHROPIC_BASE_URL", scene.server.url()),
        ("ANTHROPIC_API_KEY", "scripted-key".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("DISABLE_AUTOUPDATER", on()),
        ("DISABLE_TELEMETRY", on()),
        ("DISABLE_ERROR_REPORTING", on()),
        ("CLAUDE_CODE_MAX_RETRIES", "2".to_owned()),
    ]
}

tests!(CLAUDE: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_server_that_fails_and_limits_for_a_moment_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    an_agent_whose_model_is_silent_is_stopped, ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_begins_afresh, a_limit_that_lasts_is_waited_for,
    a_judge_without_tools_finds_the_lie_and_the_work, tasks_that_it_makes_are_imported_and_wait_for_approval);

/// As people have it: it asks ten times, which takes minutes.
const PATIENT: Real = Real {
    settle: |scene| settle(scene).into_iter().filter(|(name, _)| *name != "CLAUDE_CODE_MAX_RETRIES").collect(),
    ..CLAUDE
};

#[test]
fn an_agent_that_only_repeats_requests_is_stopped() {
    stories::an_agent_that_only_repeats_requests_is_stopped(&PATIENT);
}

/// A subscriber is told when the limit is over, and that very second is waited for.
// spec: A10, L6
#[test]
fn a_used_up_plan_is_waited_for_until_its_reset() {
    let soon = jiff::Timestamp::now().as_second() + 20;
    let refused = json!({"refuse": {"status": 429, "resets_at": soon}});
    let scene = Scene::new(&CLAUDE, |_| json!([refused, {"say": "All is done. <promise>DONE</promise>"}]));
    let as_subscriber = |command: &mut Command| {
        command.env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "scripted-token");
    };
    let answer = scene.run("Do the work.").with(as_subscriber).output().expect(0);
    assert_eq!(answer.named("limit.waiting")[0]["reset_at"], soon, "{}", answer.stdout);
    assert_eq!(answer.finished()["iterations"], 1);
    assert!(jiff::Timestamp::now().as_second() >= soon);
}

const SESSION: Host = Host {
    real: &CLAUDE,
    mark: '/',
    begin: |id| words(&["-p", "--dangerously-skip-permissions", "--session-id", id]),
    resume: |id| words(&["-p", "--dangerously-skip-permissions", "--resume", id]),
    id: None,
    trust: |_| (),
};

sessions!(SESSION);

// spec: A10, H2
#[test]
fn as_a_plugin_it_is_valid_and_does_the_same() {
    let scene = Scene::new(&CLAUDE, greeting);
    let plugin = scene.project.outside("plugin").display().to_string();
    scene.ralph(&["install", "claude", "--plugin", &plugin]).output().expect(0);
    let call = |args: &[&str], prompt: String| {
        scene.session(&words(args)).input(prompt).start().wait_without_invariants().expect(0)
    };
    call(&["plugin", "validate", &plugin], String::new());
    let id = uuid::Uuid::new_v4().to_string();
    let args = ["-p", "--dangerously-skip-permissions", "--plugin-dir", &plugin, "--session-id", &id];
    call(&args, format!("/ralph:ralph {GREET}"));
    greeted(&scene, &id);
}

/// The session's own agent makes tasks of a spec, and what they would run waits for a person.
// spec: A10, T8
#[test]
fn tasks_that_are_made_in_a_session_wait_for_approval() {
    let own = env!("CARGO_BIN_EXE_ralph");
    let tasks = "- id: greet-1\n  title: Greet\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    \
        coder: {verification_config: {command: make}}\n";
    let scene = Scene::new(&CLAUDE, |project| {
        let file = project.root().join("ralph-tasks.yaml");
        json!([{"write": {"path": file, "content": tasks}}, {"run": format!("'{own}' task import --by-agent ralph-tasks.yaml")},
            {"say": "There is one task."}])
    });
    scene.ralph(&["install", "claude"]).output().expect(0);
    scene.project.write("greet.md", "# Greet\n\nSay hello.\n");
    let args = words(&["-p", "--dangerously-skip-permissions"]);
    scene.session(&args).input("/ralph-tasks greet.md").start().wait_without_invariants().expect(0);
    let asked = scene.server.asked()[0].to_string();
    assert!(asked.contains("For EACH task you MUST write") && asked.contains("greet.md"), "{asked}");
    let listed: Value = scene.ralph(&["task", "list", "--json"]).output().expect(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["approved"]), (&json!("greet-1"), &json!(false)), "{listed}");
}
