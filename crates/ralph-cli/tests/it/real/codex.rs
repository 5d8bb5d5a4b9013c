//! Codex.
use serde_json::{Value, json};

use super::in_session::{GREET, Host, greeting, sessions, shared_sessions, words};
use super::scene::{Needs, Real, Scene, Sessions, Set};
use super::stories::DONE;
use super::tests;
use crate::harness::Answer;

/// `codex` is a script that starts the native program, as people have it.
const CODEX: Real = Real {
    name: "codex",
    set: Set::Usual,
    program: "@openai/codex/bin/codex.js",
    settle,
    sessions: Sessions::In(".codex/sessions"),
    needs: Needs::Nothing,
};

/// Without the switches it asks for updates, plugins and analytics, and waits for them at its end.
fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    let settings = format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
request_max_retries = 2
stream_max_retries = 1
supports_websockets = false

[analytics]
enabled = false

[features]
plugins = false
"#,
        scene.server.url()
    );
    scene.settings(".codex/config.toml", &settings);
    vec![("SCRIPTED_API_KEY", "scripted-key".to_owned())]
}

tests!(CODEX: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_server_that_fails_and_limits_for_a_moment_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    an_agent_whose_model_is_silent_is_stopped, ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_begins_afresh, a_limit_that_lasts_is_waited_for,
    a_judge_without_tools_finds_the_lie_and_the_work);

/// It is told to come back in ten minutes, says that it will, and is silent: that is no time-out but a limit.
// spec: A10, L6, L7
#[test]
fn an_agent_that_is_silent_after_a_refusal_is_waited_for() {
    let scene = Scene::new(
        &CODEX,
        |project| json!([{"refuse": {"status": 429, "retry_after": 600, "until": project.outside("open")}}, {"say": DONE}]),
    );
    // One that is stopped before it has asked the model only costs an iteration.
    let limits = ["--idle-timeout", "20s", "--max-rate-limit-wait", "10s", "--max-retries", "0"];
    let running = scene.run("Do the work.").args(limits).start();
    let waited = running.wait_for_event("limit.waiting");
    std::fs::write(scene.project.outside("open"), "").unwrap();
    let answer = running.wait().expect(0);
    assert_eq!(answer.named("stop.requested")[0]["reason"], "the agent was silent for too long");
    assert_eq!(answer.finished()["iterations"], waited["iteration"], "the wait counts as none");
}

/// Here nobody can be asked whether the hooks are trusted.
const TRUSTING: &[&str] =
    &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"];

const SESSION: Host = Host {
    real: &CODEX,
    mark: '$',
    begin: |_| words(&[TRUSTING, &["-"]].concat()),
    resume: |id| words(&[TRUSTING, &["resume", id, "-"]].concat()),
    id: Some(thread),
    trust: |scene| {
        let path = scene.project.home().join(".codex/config.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        let root = scene.project.root();
        let trusted = format!("{settings}\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", root.display());
        std::fs::write(&path, trusted).unwrap();
    },
};

sessions!(SESSION);
shared_sessions!(SESSION);

fn thread(answer: &Answer) -> String {
    let first: Value = serde_json::from_str(answer.stdout.lines().next().unwrap()).unwrap();
    first["thread_id"].as_str().unwrap().to_owned()
}

// spec: A10, H2
#[test]
fn hooks_that_nobody_has_trusted_do_nothing() {
    let scene = Scene::new(&CODEX, greeting);
    scene.ralph(&["install", "codex"]).output().expect(0);
    let args = words(&["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "-"]);
    scene.session(&args).input(format!("$ralph {GREET}")).start().wait_without_invariants().expect(0);
    assert_eq!(scene.server.asked().len(), 1);
    assert_eq!(scene.ralph(&["loop", "status", "--json"]).output().expect(0).json(), json!([]));
}
